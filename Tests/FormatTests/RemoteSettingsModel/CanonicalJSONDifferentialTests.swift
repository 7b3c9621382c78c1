import Foundation
import RemoteSettingsModel
import Testing

/// Compares canonical JSON with `canonicaljson-rs` 0.9.3, the server's own implementation, byte for byte.
///
/// `canonical_cases.txt` is the output of `canonical_cases.py 1 400`. `scripts/test external` compares many more
/// documents and the real collections of Debian's firefox-esr.
struct CanonicalJSONDifferentialTests {
    private static func cases(_ arguments: String...) throws -> [(document: Bytes, canonical: Bytes?)] {
        try parsed(output(of: ".cache/venv/bin/python", ["Tests/Comparisons/canonical_cases.py"] + arguments))
    }

    private static func parsed(_ lines: Data) throws -> [(document: Bytes, canonical: Bytes?)] {
        let text = try #require(String(bytes: lines, encoding: .ascii))
        return try text.split(separator: "\n").map { line in
            let columns = line.split(separator: "\t")
            try #require(columns.count == 2)
            return (try bytes(columns[0]), columns[1] == "!" ? nil : try bytes(columns[1]))
        }
    }

    private static func bytes(_ hex: Substring) throws -> Bytes {
        let digits = Array(hex.utf8)
        return Bytes(
            try stride(from: 0, to: digits.count, by: 2).map { index in
                try #require(UInt8(String(decoding: digits[index...(index + 1)], as: UTF8.self), radix: 16))
            })
    }

    @Test func committedDocumentsMatchCanonicalJSON() throws {
        let file = repository.appending(path: "Tests/Comparisons/canonical_cases.txt")
        let cases = try Self.parsed(Data(contentsOf: file))
        #expect(cases.count == 400)
        compare(cases, refused: 5...300)
    }

    @Test(.external) func realCollectionsMatchCanonicalJSON() throws {
        let cases = try Self.cases("0", "0", ".cache/real-collections")
        #expect(cases.count >= 31)
        for (document, expected) in cases {
            #expect(try CanonicalJSON.canonicalize(document) == expected)
        }
    }

    @Test(.external, arguments: 1...4) func generatedDocumentsMatchCanonicalJSON(seed: Int) throws {
        let cases = try Self.cases("\(seed)", "5000")
        #expect(cases.count == 5000)
        compare(cases, refused: 51...3999)
    }

    private func compare(_ cases: [(document: Bytes, canonical: Bytes?)], refused range: ClosedRange<Int>) {
        var refused = 0
        for (document, expected) in cases {
            let found = try? CanonicalJSON.canonicalize(document)
            if found != expected {
                Issue.record("\(document.text) gave \(found?.text ?? "an error"), not \(expected?.text ?? "an error")")
            }
            if expected == nil { refused += 1 }
        }
        // The comparison is meaningful only if both outcomes occur.
        #expect(range.contains(refused))
    }

    /// The server signs all records of a changeset except tombstones, with all their members.
    @Test(.external) func generatedChangesetsMatchCanonicalJSON() throws {
        let cases = try Self.cases("5", "3000", "changes")
        let markets = try CollectionID("main/markets")
        var compared = 0
        for (changes, expected) in cases {
            let body = #"{"metadata":{},"timestamp":1000,"changes":\#(changes.text)}"#
            let answer = try? Changeset(parsing: Bytes(utf8: body))
            let found = try answer?.snapshot(of: markets, onto: nil).payload.bytes
            if found != expected {
                Issue.record("\(changes.text) gave \(found?.text ?? "an error"), not \(expected?.text ?? "an error")")
            }
            if expected != nil { compared += 1 }
        }
        #expect(compared > 1500)
    }
}
