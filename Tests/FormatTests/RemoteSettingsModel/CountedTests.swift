import RemoteSettingsModel
import Testing

@Suite struct CountedTests {
    @Test(arguments: [(0, "0 entries"), (1, "1 entry"), (2, "2 entries"), (21, "21 entries")])
    func nouns(count: Int, text: String) {
        #expect(Counted.text(count, "entry", plural: "entries") == text)
    }

    @Test func regularNouns() {
        #expect(Counted.text(UInt64(1), "file") == "1 file")
        #expect(Counted.text(Int64(0), "file") == "0 files")
        #expect("\(Counted.noun(1, "is", plural: "are")) \(Counted.noun(3, "is", plural: "are"))" == "is are")
    }

    @Test func listsAreShort() {
        #expect(Counted.list([Int]()).isEmpty)
        #expect(Counted.list(1...10) == "1, 2, 3, 4, 5, 6, 7, 8, 9, 10")
        #expect(Counted.list(1...200_000) == "1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 199990 more")
    }
}
