import Foundation

/// A program that runs fuzz targets. `Tests/Faults/fuzz` passes the target and the place for seeds in the environment.
package struct FuzzProgram: Sendable {
    package let targets: [FuzzTarget]
    package let target: FuzzTarget?

    package init(_ targets: [FuzzTarget]) {
        self.targets = targets
        let name = ProcessInfo.processInfo.environment["RSFUZZ_TARGET"]
        target = targets.first { $0.name == name }
    }

    private var chosen: FuzzTarget {
        guard let target else {
            print("rsfuzz: RSFUZZ_TARGET must name one of:", targets.map(\.name).joined(separator: " "))
            exit(2)
        }
        return target
    }

    /// Called before the fuzzer's first run. With RSFUZZ_SEEDS, writes the seeds there and exits. With RSFUZZ_ROUNDS,
    /// runs that many inputs, the same on every machine, prints their number and exits; expensive targets run fewer.
    /// RSFUZZ_INPUT is the path of a file for the last input.
    package func begin() {
        let target = chosen
        let environment = ProcessInfo.processInfo.environment
        let root = FileManager.default.currentDirectoryPath
        do {
            if let directory = environment["RSFUZZ_SEEDS"] {
                for (index, seed) in try target.seeds(SeedSource(root: root)).enumerated() {
                    try Data(seed).write(to: URL(filePath: "\(directory)/seed-\(index)"))
                }
            } else if let rounds = environment["RSFUZZ_ROUNDS"].flatMap(Int.init) {
                let place = environment["RSFUZZ_INPUT"].map { URL(filePath: $0) }
                let count = max(1, rounds / target.cost)
                try target.run(from: try target.seeds(SeedSource(root: root, isRepeatable: true))) { round, input in
                    if let place { try Data(input).write(to: place) }
                    return round < count
                }
                print("\(count) runs")
            } else {
                return
            }
            exit(0)
        } catch {
            fatalError("\(target.name): \(error)")
        }
    }

    /// Runs the target with one input. A wrong result ends the process, as a trap does.
    package func run(_ input: UnsafeBufferPointer<UInt8>) {
        unsafe run(Array(input), of: "an input")
    }

    /// Returns the longest input of the chosen target in bytes, limited by the fuzzer's own maximum.
    package func longest(within most: Int) -> Int { min(most, chosen.longest) }

    /// Changes an input in place, within `most` bytes, and returns its new length.
    package func mutate(_ data: UnsafeMutablePointer<UInt8>, _ size: Int, most: Int, seed: UInt64) -> Int {
        var input = unsafe Array(UnsafeBufferPointer(start: data, count: size))
        chosen.mutate(&input, seed: seed)
        let count = min(input.count, most)
        for index in 0..<count { unsafe data[index] = input[index] }
        return count
    }

    /// Runs the target with each file on the command line, to examine a finding or to measure the coverage of a corpus.
    /// For a program built without the fuzzer.
    package func replay() throws {
        for path in CommandLine.arguments.dropFirst() {
            run(Array(try Data(contentsOf: URL(filePath: path))), of: path)
        }
    }

    private func run(_ input: [UInt8], of name: String) {
        do {
            try chosen.run(input)
        } catch {
            fatalError("\(chosen.name): \(name): \(error)")
        }
    }
}
