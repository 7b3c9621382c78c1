@testable import Dumps
import RemoteSettingsModel
import Testing

struct RenderingTests {
    /// ESC, a C1 control, a direction override, a zero-width space, a line separator and BEL.
    private static let hostile = #"\u001b[31m\u009b\u202e\u200b\u2028\u0007"#
    private static let forbidden: Set<Unicode.Scalar> = [
        "\u{1B}", "\u{9B}", "\u{202E}", "\u{200B}", "\u{2028}", "\u{07}",
    ]

    private func edited(_ value: String) throws -> DiffReport {
        try States.report([#"{"id":"r","value":1}"#], [#"{"id":"r","value":"\#(value)"}"#])
    }

    @Test func diffTextEscapesControlCharacters() throws {
        let value = DiffText(try edited(Self.hostile)).text
        let name = DiffText(try States.report([#"{"id":"r"}"#], [#"{"\#(Self.hostile)":1,"id":"r"}"#])).text
        for text in [value, name] { #expect(!text.unicodeScalars.contains { Self.forbidden.contains($0) }) }
        #expect(value.contains(#"\u{202e}"#) && value.contains("- value: 1\n"))
        #expect(name.split(separator: "\n").count == 4)
    }

    @Test func diffTextColours() throws {
        let report = try edited("x")
        #expect(!DiffText(report).text.contains("<"))
        let painted = DiffText(report) { text, role in "<\(role)>\(text)</\(role)>" }.text
        #expect(painted.contains("<updated>  ~ r</updated>"))
        #expect(painted.contains(#"<created>      + value: "x"</created>"#))
    }

    @Test func diffShowsLongValuesNearTheirDifference() throws {
        let same = String(repeating: "s", count: 3_000)
        let report = try States.report([#"{"id":"r","value":"\#(same)OLD"}"#], [#"{"id":"r","value":"\#(same)NEW"}"#])
        for text in [DiffText(report).text, DiffMarkdown(report).text] {
            #expect(text.contains("OLD") && text.contains("NEW"))
            #expect(text.utf8.count < 2_000)
        }
    }

    /// A 2 MB member name with 2,000 members below it, as in a record whose bundle is 9 kB.
    private func costly(_ name: String) throws -> DiffReport {
        func record(_ factor: Int) -> String {
            #"{"id":"r","\#(name)":{\#((1000..<3000).map { "\"m\($0)\":\($0 * factor)" }.joined(separator: ","))}}"#
        }
        return try States.report([record(1)], [record(2)])
    }

    @Test func diffShortensLongFieldNames() throws {
        let report = try costly(String(repeating: "k", count: 2_000_000))
        let text = DiffText(report).text
        #expect(text.utf8.count < 2_000_000 && text.contains("kk… (2000000 bytes).m1000: 1000\n"))
        #expect(text.contains("… and 1000 more fields\n"))
        var pieces: [UInt8] = []
        DiffJSON.write(report) { pieces += $0 }
        #expect(pieces.count < 2_000_000)
        let record = try JSONValue(parsing: Bytes(pieces))["collections"]?.array?.first?["records"]?.array?.first
        #expect(record?["fields"]?.array?.count == 1000 && record?["omitted"] == .count(1000))
        let field = try #require(record?["fields"]?.array?.first)
        #expect(field["cut"] == .bool(true) && field["path"]?.array?.last == .string("m1000"))
        #expect(field["old"] == .count(1000) && field["new"] == .count(2000))
        #expect(DiffMarkdown(report).text.utf8.count < 10_000)
    }

    @Test func diffShortensNamesByBytes() throws {
        let report = try costly("a" + String(repeating: #"\u0301"#, count: 10_000))
        #expect(DiffText(report).text.utf8.count < 1_500_000)
    }

    @Test func jsonDiffStopsAtLimit() throws {
        let records = (0..<30).map { #"{"id":"r\#(10_000 + $0)","v":"\#(String(repeating: "x", count: 300))"}"# }
        let report = try States.report([], records)
        var pieces: [UInt8] = []
        DiffJSON.write(report, limit: 5_000) { pieces += $0 }
        let found = try JSONValue(parsing: Bytes(pieces))["collections"]?.array?.first
        let count = try #require(found?["records"]?.array?.count)
        #expect(count > 5 && count < 20 && found?["omitted"] == .count(30 - count))
        var lines: [String] = []
        DiffText(report).forEachLine(limit: 5_000) { lines.append($0) }
        let shown = lines.count { $0.hasPrefix("  + r") }
        #expect(shown > 5 && lines.contains("  … and \(30 - shown) more records"))
        #expect(lines.last?.hasPrefix("1 of 1 collection changed: 30 records created") == true)
    }

    /// Returns the report as JSON, and checks that it is indented like the tool's other JSON.
    private func json(_ report: DiffReport) throws -> JSONValue {
        var text: [UInt8] = []
        DiffJSON.write(report) { text += $0 }
        let document = try JSONValue(parsing: Bytes(text))
        #expect(JSONText.indented(document) == text)
        return document
    }

    @Test func jsonDiffShape() throws {
        let document = try json(
            States.report(
                [#"{"id":"r","value":null}"#], [States.attached("n", "1", size: 3), #"{"id":"r","value":1}"#]))
        let text = String(decoding: JSONText.compact(document), as: UTF8.self)
        #expect(
            text == """
                {"old":"old","new":"new","same":false,"settings":[],"counts":{"collections":1,"created":1,"updated":1,"deleted":0,\
                "attachmentsAdded":1,"attachmentsChanged":0,"attachmentsRemoved":0,"attachmentBytesAdded":3,\
                "attachmentBytesRemoved":0},"collections":[{"collection":"main/cases","status":"changed",\
                "old":{"collection":"main/cases","timestamp":1,"lastModified":"1970-01-01T00:00:00.001Z","records":1,\
                "trust":"unsigned"},"new":{"collection":"main/cases","timestamp":2,\
                "lastModified":"1970-01-01T00:00:00.002Z","records":2,"trust":"unsigned"},"counts":{"created":1,\
                "updated":1,"deleted":0,"attachmentsAdded":1,"attachmentsChanged":0,"attachmentsRemoved":0,\
                "attachmentBytesAdded":3,"attachmentBytesRemoved":0},"metadata":[],"records":[{"id":"n",\
                "change":"created",\
                "fields":[{"path":["attachment"],"new":{"filename":"a.bin",\
                "hash":"1111111111111111111111111111111111111111111111111111111111111111","location":"l/a.bin",\
                "mimetype":"text/plain","size":3}},{"path":["id"],"new":"n"},{"path":["last_modified"],"new":1}],\
                "attachment":{"change":"added","new":{"filename":"a.bin","location":"l/a.bin",\
                "mimetype":"text/plain",\
                "sha256":"1111111111111111111111111111111111111111111111111111111111111111","size":3}}},\
                {"id":"r","change":"updated","fields":[{"path":["value"],"old":null,"new":1}]}]}]}
                """)
    }

    @Test func markdownNamesNewAndRemovedCollectionsWithTheReason() throws {
        let diffs = [
            SnapshotDiff(from: nil, to: try States.snapshot([], collection: "main/new")),
            SnapshotDiff(from: try States.snapshot([], collection: "main/old"), to: nil),
            SnapshotDiff(from: try States.snapshot([], collection: "main/gone"), to: nil),
        ].compactMap(\.self)
        let text = DiffMarkdown(
            DiffReport(old: "a", new: "b", collections: diffs, unlisted: [try CollectionID("main/old")])
        ).text
        #expect(text.contains("\n- New: `main/new`\n"))
        #expect(text.contains("\n- Removed: `main/old` (no longer listed in `dumps.yaml`)\n"))
        #expect(text.contains("\n- Removed: `main/gone`\n"))
    }

    @Test(arguments: ["`", "``` a ``", " a ", "|", "a|`|\u{301}", "\n", "", "``"])
    func markdownCodeSpanHoldsAnyText(text: String) {
        for span in [MarkdownText.code(text), MarkdownText.cell(text)] {
            let fence = span.prefix { $0 == "`" }
            let inside = span.unicodeScalars.dropFirst(fence.count).dropLast(fence.count)
            #expect(text.isEmpty == fence.isEmpty)
            #expect(!inside.contains("\n"))
            if !fence.isEmpty {
                let runs = String(String.UnicodeScalarView(inside)).unicodeScalars.split { $0 != "`" }
                #expect(runs.allSatisfy { $0.count != fence.count }, "\(span)")
            }
        }
        #expect(!MarkdownText.cell(text).unicodeScalars.contains("|"))
    }

    @Test(arguments: [
        (
            "attachment of record petals-23: the server answered 404",
            "attachment of record `petals-23`: the server answered 404"
        ),
        (
            "it's pinned at 1760000000000 (2025-10-09), 12 days behind",
            "it's pinned at `1760000000000` (`2025-10-09`), 12 days behind"
        ),
        (
            "correct its name, or run rsdump remove main/x; see rsdump",
            "correct its name, or run `rsdump remove main/x`; see rsdump"
        ),
        ("fetch it with: rsdump refresh --full or restore it", "fetch it with: `rsdump refresh --full` or restore it"),
        (
            "@name #1 !2 deadbeef feedback :smile: www.example.org",
            "`@name` `#1` `!2` `deadbeef` feedback `:smile`: `www.example.org`"
        ),
        ("a <b> *c* _d_ `e` [f](g) &lt; \n- h", "a `<b>` `*c*` `_d_` `` `e` `` `[f](g`) `&lt`; `\\u{a}-` h"),
        ("(e\u{301}) 12345 (4567).", "(`e\u{301}`) `12345` (4567)."),
    ])
    func markdownProseQuotesAllButPlainWords(sentence: String, markdown: String) {
        #expect(MarkdownText.prose(sentence) == markdown)
    }
}
