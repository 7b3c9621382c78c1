import RemoteSettingsModel

/// One place where bytes from outside come in, for a fuzzer: what to run with them, and what must hold then.
package struct FuzzTarget: Sendable {
    package let name: String
    /// What is read, and what is checked beyond that nothing traps, hangs or takes too much memory.
    package let summary: String
    /// The longest input, in bytes.
    package let longest: Int
    /// How many times longer a run takes than one of other targets. If those are run a number of times, this one is
    /// run so many times fewer.
    package let cost: Int
    /// Texts that are put into inputs: the words of the format.
    package let words: [String]
    /// Inputs to begin with.
    package let seeds: @Sendable (SeedSource) throws -> [[UInt8]]
    /// A change that knows the format; `nil` if changing texts and numbers is enough.
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
    /// - Throws: ``Finding`` if the answer is wrong. An input that the package refuses is no finding.
    package func run(_ input: [UInt8]) throws { try body(input) }

    /// Runs the target with each seed, then with three changes of it on top of each other, again and again.
    ///
    /// - Parameter goesOn: called before each run, with the number of runs so far; `false` ends.
    /// - Throws: as ``run(_:)``, and what `goesOn` throws.
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

/// A wrong answer.
package struct Finding: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// What is read of an input; `nil` if it is refused, by an error that names the file.
func accepted<Value>(_ read: @autoclosure () throws -> Value, from file: String = "") throws -> Value? {
    do {
        return try read()
    } catch let error as Failure {
        let text = error.description
        try require(!text.isEmpty && text.hasPrefix(file), "an error that does not name the file: \(error)")
        return nil
    }
}

/// Throws a ``Finding`` if something does not hold.
package func require(_ holds: Bool, _ what: @autoclosure () -> String) throws(Finding) {
    guard holds else { throw Finding(what()) }
}
