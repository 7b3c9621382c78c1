import Foundation
@testable import rsfuzz
import Testing

/// Runs the targets of `Tests/Faults/fuzz` with few inputs and without a fuzzer, so that targets and mutations keep
/// working.
struct FuzzTargetsTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path

    /// All targets, or the one in RSFUZZ_TARGET.
    private static let targets = FuzzTarget.all.filter {
        $0.name == ProcessInfo.processInfo.environment["RSFUZZ_TARGET"] ?? $0.name
    }

    /// How long each target runs; `nil` for the short time that a unit test may take.
    private static let seconds = ProcessInfo.processInfo.environment["RSFUZZ_SECONDS"].flatMap(Int.init)
    /// The number of inputs for each target, however long they take: the first ones of `Tests/Faults/fuzz --runs`.
    /// Expensive targets get fewer.
    private static let rounds = ProcessInfo.processInfo.environment["RSFUZZ_ROUNDS"].flatMap(Int.init)

    @Test(arguments: targets.map(\.name))
    func fuzzTargetsPassSeedsAndMutations(name: String) async throws {
        let target = try #require(Self.targets.first { $0.name == name })
        // The first inputs of `Tests/Faults/fuzz --runs`, equal on any machine; with RSFUZZ_SECONDS, also local data.
        let seeds = try target.seeds(SeedSource(root: Self.root, isRepeatable: Self.seconds == nil))
        #expect(!seeds.isEmpty)
        // Some targets block until asynchronous work is done. On the thread pool that runs this work, two of them would
        // deadlock on a machine with two cores.
        let found = await withCheckedContinuation { (finished: CheckedContinuation<String?, Never>) in
            Thread { finished.resume(returning: finding(of: target, from: seeds)) }.start()
        }
        #expect(found == nil)
    }

    /// Runs a target with its seeds and mutations of them. Returns the first finding with its input.
    private func finding(of target: FuzzTarget, from seeds: [[UInt8]]) -> String? {
        var last = (round: 0, input: [UInt8]())
        // The budget is a time, because some targets sign certificates and write files.
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
