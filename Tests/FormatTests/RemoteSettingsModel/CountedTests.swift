import RemoteSettingsModel
import Testing

@Suite struct CountedTests {
    @Test func countedNouns() {
        #expect(Counted.text(1, "entry", plural: "entries") == "1 entry")
        #expect(Counted.text(21, "entry", plural: "entries") == "21 entries")
        #expect(Counted.text(UInt64(1), "file") == "1 file")
        #expect(Counted.text(Int64(0), "file") == "0 files")
        #expect("\(Counted.noun(1, "is", plural: "are")) \(Counted.noun(3, "is", plural: "are"))" == "is are")
    }

    @Test func longListIsCut() {
        #expect(Counted.list([Int]()).isEmpty)
        #expect(Counted.list(1...10) == "1, 2, 3, 4, 5, 6, 7, 8, 9, 10")
        #expect(Counted.list(1...200_000) == "1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 199990 more")
    }
}
