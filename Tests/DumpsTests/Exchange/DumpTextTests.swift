import RemoteSettingsModel
import Testing

@testable import DumpsExchange

/// commands/export-shapes.txt covers the JSON style of other projects.
struct DumpTextTests {
    @Test(
        arguments: [
            ("{\n  \"data\": []\n}\n", nil), ("{\n    \"data\": []\n}", (4, false)), ("{\"data\":[]}", (0, false)),
            ("{\n  \"data\": []\n}", (2, false)),
        ] as [(String, (Int, Bool)?)])
    func dumpStyleIsDetected(_ text: String, _ expected: (Int, Bool)?) throws {
        let id = try CollectionID("main/example")
        let seen = DumpStyle.seen(in: Bytes(utf8: text), of: .firefox(id))
        #expect(seen?.indent == expected?.0 && seen?.endsWithNewline == expected?.1)
        let metadata = DumpMetadata.make(id, seen)
        #expect(DumpMetadata.style(metadata, of: .firefox(id)) == seen ?? .firefox(id))
    }
}
