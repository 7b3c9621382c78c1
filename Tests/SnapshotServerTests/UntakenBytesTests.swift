import Testing

@testable import SnapshotServer

@Suite struct UntakenBytesTests {
    private let untaken = UntakenBytes(limit: 1 << 20)

    @Test func untakenBytesCountUntilReleased() {
        var part = untaken.add(600 << 10, for: 1)
        #expect(part != nil)
        #expect(untaken.total == 600 << 10)
        #expect(untaken.add(600 << 10, for: 2) == nil)
        part = nil
        #expect(untaken.total == 0)
        #expect(untaken.add(600 << 10, for: 2) != nil)
    }

    @Test func untakenBytesAreSharedBetweenNetworks() {
        var held: [UntakenBytes.Part] = []
        for network in 1...3 as ClosedRange<UInt64> {
            while let part = untaken.add(64 << 10, for: network) { held.append(part) }
            #expect(untaken.total == [1: 512 << 10, 2: 768 << 10, 3: 896 << 10][network])
        }
    }

    @Test func fewUntakenBytesDoNotCount() {
        let all = untaken.add(1 << 20, for: 1)
        #expect(all != nil)
        #expect(untaken.add(UntakenBytes.uncounted + 1, for: 2) == nil)
        #expect(untaken.add(UntakenBytes.uncounted, for: 2) != nil)
        #expect(untaken.total == 1 << 20)
    }

    @Test func oneHugeAnswerMayExceedTheLimit() {
        let huge = untaken.add(.max, for: 1)
        #expect(huge != nil)
        #expect(untaken.add(UntakenBytes.uncounted + 1, for: 2) == nil)
    }
}
