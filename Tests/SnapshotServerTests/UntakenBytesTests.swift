import Testing

@testable import SnapshotServer

@Suite struct UntakenBytesTests {
    private let untaken = UntakenBytes(limit: 1 << 20)

    @Test func `Bytes count until they are released`() {
        var part = untaken.add(600 << 10, for: 1)
        #expect(part != nil)
        #expect(untaken.total == 600 << 10)
        #expect(untaken.add(600 << 10, for: 2) == nil)
        part = nil
        #expect(untaken.total == 0)
        #expect(untaken.add(600 << 10, for: 2) != nil)
    }

    @Test func `One network holds as many as nobody holds, and the next one gets its share`() {
        var held: [UntakenBytes.Part] = []
        for network in 1...3 as ClosedRange<UInt64> {
            while let part = untaken.add(64 << 10, for: network) { held.append(part) }
            #expect(untaken.total == [1: 512 << 10, 2: 768 << 10, 3: 896 << 10][network])
        }
    }

    @Test func `A few bytes are never too many and do not count`() {
        let all = untaken.add(1 << 20, for: 1)
        #expect(all != nil)
        #expect(untaken.add(UntakenBytes.uncounted + 1, for: 2) == nil)
        #expect(untaken.add(UntakenBytes.uncounted, for: 2) != nil)
        #expect(untaken.total == 1 << 20)
    }

    @Test func `More than the limit is allowed if there is nothing else`() {
        let huge = untaken.add(.max, for: 1)
        #expect(huge != nil)
        #expect(untaken.add(UntakenBytes.uncounted + 1, for: 2) == nil)
    }
}
