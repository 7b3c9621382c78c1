import Foundation
@testable import rsfuzz
import Testing

/// What `Tests/Faults/fuzz` runs, with few inputs and without a fuzzer, so that targets and mutations stay right.
struct FuzzTargetsTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path

    /// All of them, or the one that RSFUZZ_TARGET names.
    private static let targets = FuzzTarget.all.filter {
        $0.name == ProcessInfo.processInfo.environment["RSFUZZ_TARGET"] ?? $0.name
    }

    /// How long each target runs; `nil` for as short a time as a unit test may take.
    private static let seconds = ProcessInfo.processInfo.environment["RSFUZZ_SECONDS"].flatMap(Int.init)
    /// How many inputs each target gets, however long they take: the first ones of `Tests/Faults/fuzz --runs`. A target
    /// that costs more gets fewer.
    private static let rounds = ProcessInfo.processInfo.environment["RSFUZZ_ROUNDS"].flatMap(Int.init)

    @Test(arguments: targets.map(\.name))
    func fuzzTargetsPassSeedsAndMutations(name: String) async throws {
        let target = try #require(Self.targets.first { $0.name == name })
        // The first inputs of `Tests/Faults/fuzz --runs`, on any machine; with a time, what that has at hand.
        let seeds = try target.seeds(SeedSource(root: Self.root, isRepeatable: Self.seconds == nil))
        #expect(!seeds.isEmpty)
        // Some targets wait for asynchronous work. On a thread of the pool that work runs on, two of them at once would
        // wait for ever on a machine with two cores.
        let found = await withCheckedContinuation { (finished: CheckedContinuation<String?, Never>) in
            Thread { finished.resume(returning: finding(of: target, from: seeds)) }.start()
        }
        #expect(found == nil)
    }

    /// Runs a target with its seeds and changes of them. Returns what the first wrong answer is, with its input.
    private func finding(of target: FuzzTarget, from seeds: [[UInt8]]) -> String? {
        var last = (round: 0, input: [UInt8]())
        // A budget in time, because some targets sign certificates and write files.
        let end = ContinuousClock.now + (Self.seconds.map { .seconds($0) } ?? .milliseconds(200))
        let rounds = Self.rounds.map { max(1, $0 / target.cost) }
        do {
            try target.run(from: seeds) { round, input in
                last = (round, input)
                if let rounds { return round < rounds }
                return (Self.seconds != nil || round < 20 * seeds.count) && ContinuousClock.now < end
            }
        } catch {
            return "round \(last.round): \(error): \(Data(last.input).base64EncodedString())"
        }
        if Self.seconds ?? Self.rounds != nil { print("\(target.name): \(last.round) runs") }
        return last.round > 0 ? nil : "no input was run"
    }
}
