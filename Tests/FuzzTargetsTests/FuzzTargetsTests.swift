import Foundation
import FuzzServerTargets
import FuzzTargets
import Testing

/// What `scripts/fuzz` runs, with few inputs and without a fuzzer, so that targets and mutations stay right.
struct FuzzTargetsTests {
    private static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

    private func run(_ target: FuzzTarget, _ input: [UInt8], _ name: String) {
        do {
            try target.run(input)
        } catch {
            Issue.record("\(target.name), \(name): \(error): \(Data(input).base64EncodedString())")
        }
    }

    private static let targets = FuzzTarget.all + FuzzTarget.server

    @Test(arguments: targets.map(\.name))
    func seedsAndTheirMutationsHold(name: String) throws {
        let target = try #require(Self.targets.first { $0.name == name })
        let seeds = try target.seeds(SeedSource(root: Self.root))
        #expect(!seeds.isEmpty)
        var (round, input) = (0, [UInt8]())
        // A budget in time, because some targets sign certificates and write files.
        let end = ContinuousClock.now + .milliseconds(400)
        while round < 20 * seeds.count, ContinuousClock.now < end {
            // Three changes on top of each other, then the next seed.
            if round % 4 == 0 {
                input = seeds[round / 4 % seeds.count]
            } else {
                target.mutate(&input, seed: UInt64(round))
            }
            run(target, input, "round \(round)")
            round += 1
        }
        #expect(round > 0)
    }
}
