import RemoteSettingsModel

/// An entry point for untrusted bytes: the code that reads them, and what must be true afterwards.
package struct FuzzTarget: Sendable {
    package let name: String
    /// What is read, and what is checked in addition to crashes, hangs and memory use.
    package let summary: String
    /// The longest input, in bytes.
    package let longest: Int
    /// The cost of a run relative to other targets: this target runs that many times fewer inputs.
    package let cost: Int
    /// Words of the format, which are inserted into inputs.
    package let words: [String]
    /// Initial inputs.
    package let seeds: @Sendable (SeedSource) throws -> [[UInt8]]
    /// A mutation specific to the format; `nil` if changing texts and numbers is enough.
    package let mutate: (@Sendable (inout [UInt8], inout FuzzRandom) -> Void)?
    private let body: @Sendable ([UInt8]) throws -> Void

    package init(
        _ name: String, _ summary: String, longest: Int = 4096, cost: Int = 1, words: [String] = [],
        seeds: @escaping @Sendable (SeedSource) throws -> [[UInt8]],
        mutate: (@Sendable (inout [UInt8], inout FuzzRandom) -> Void)? = nil,
        run: @escaping @Sendable ([UInt8]) throws -> Void
    ) {
        self.name = name
        self.summary = summary
        self.longest = longest
        self.cost = cost
        self.words = words
        self.seeds = seeds
        self.mutate = mutate
        body = run
    }

    /// Runs the target with one input.
    ///
    /// - Throws: ``Finding`` if the result is wrong. A rejected input is no finding.
    package func run(_ input: [UInt8]) throws { try body(input) }

    /// Runs the target with each seed, then with three successive mutations of it, repeatedly.
    ///
    /// - Parameter goesOn: called before each run with the number of runs so far; returns `false` to stop.
    /// - Throws: the errors of ``run(_:)`` and of `goesOn`.
    package func run(from seeds: [[UInt8]], while goesOn: (_ round: Int, _ input: [UInt8]) throws -> Bool) throws {
        guard !seeds.isEmpty else { throw Finding("there are no seeds") }
        var (round, input) = (0, [UInt8]())
        while true {
            if round % 4 == 0 {
                input = seeds[round / 4 % seeds.count]
            } else {
                mutate(&input, seed: UInt64(round))
            }
            guard try goesOn(round, input) else { return }
            try run(input)
            round += 1
        }
    }

    /// All targets, the fastest first.
    package static let all: [FuzzTarget] = [
        .events, .compressed, .lock, .filter, .pattern, .json, .changeset, .delta, .bundle, .serverZIP, .fileDelta,
        .configuration, .redoLog, .archive, .pem, .chain, .head,
    ]
}

/// A wrong result.
package struct Finding: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// Returns the parsed input; `nil` if it is rejected with an error that names the file.
func accepted<Value>(_ read: @autoclosure () throws -> Value, from file: String = "") throws -> Value? {
    do {
        return try read()
    } catch let error as Failure {
        let text = error.description
        try require(!text.isEmpty && text.hasPrefix(file), "the error does not name the file: \(error)")
        return nil
    }
}

/// Throws a ``Finding`` if the condition is false.
package func require(_ holds: Bool, _ what: @autoclosure () -> String) throws(Finding) {
    guard holds else { throw Finding(what()) }
}
