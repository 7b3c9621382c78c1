@testable import Dumps
import RemoteSettingsModel
import Testing

struct MarkdownLimitTests {
    /// Returns a report on this many collections, later ones with more changes; each record has a long value.
    private func report(collections: Int, records: Int) throws -> DiffReport {
        let long = String(repeating: "x", count: 500)
        let diffs = try (0..<collections).map { collection in
            let count = records + collection
            let name = "main/c\(1_000 + collection)"
            let new = (0..<count).map { #"{"id":"r\#(10_000 + $0)","value":"\#($0)\#(long)"}"# }
            return SnapshotDiff(
                from: try States.snapshot([], at: 1, collection: name),
                to: try States.snapshot(new, at: 2, collection: name))
        }
        return DiffReport(old: "old", new: "new", collections: diffs.compactMap(\.self))
    }

    @Test(arguments: [2_000, 5_000, 20_000, DiffMarkdown.defaultLimit])
    func markdownDiffStaysBelowLimit(limit: Int) throws {
        let report = try report(collections: 150, records: 30)
        let text = DiffMarkdown(report, limit: limit).text
        #expect(text.utf8.count <= limit)
        #expect(text.contains("150 of 150 collections changed: \(report.counts.created) records created"))
        #expect(text.contains("more changed collections"))
        #expect(text.contains("more collections.") || text.contains("more records"))
    }

    @Test func markdownDiffStartsWithLargestChanges() throws {
        let lines = DiffMarkdown(try report(collections: 5, records: 1)).text.split(separator: "\n")
        let rows = lines.filter { $0.hasPrefix("| `") }.map { $0.split(separator: "`")[1] }
        #expect(rows == ["main/c1004", "main/c1003", "main/c1002", "main/c1001", "main/c1000"])
        let headings = lines.filter { $0.hasPrefix("####") }.map { $0.split(separator: "`")[1] }
        #expect(headings == rows)
    }

    @Test func omittedLinesAreCounted() throws {
        let text = DiffMarkdown(try report(collections: 1, records: 25)).text
        #expect(text.contains("- … and 5 more records\n"))
        let fields = (0..<20).map { "\"f\(10 + $0)\":1" }.joined(separator: ",")
        let wide = try States.report([#"{"id":"r"}"#], ["{\(fields),\"id\":\"r\"}"])
        #expect(DiffMarkdown(wide).text.contains("  - … and 12 more fields\n"))
    }

    @Test func markdownLimitWithHugeCharacter() throws {
        let tower = "a" + String(repeating: "\\u0301", count: 100_000)
        let report = try States.report([#"{"id":"r","value":1}"#], [#"{"id":"r","value":"\#(tower)"}"#])
        let text = DiffMarkdown(report, limit: 5_000).text
        #expect(text.utf8.count <= 5_000)
        #expect(text.contains("- updated `r`\n") && text.contains("… (200003 bytes)"))
    }
}
