@testable import RemoteSettingsModel
import Testing
@testable import Dumps

/// A changed field: its path, and its values as compact JSON.
private struct Field: Hashable {
    let path: [String]
    var old: String?
    var new: String?
}

extension RecordChange {
    fileprivate var fieldList: [Field] {
        func text(_ json: Bytes?) -> String? {
            json.map { String(decoding: JSONText.compact(FieldChange.value($0)), as: UTF8.self) }
        }
        return fields().shown.map { Field(path: $0.path.names, old: text($0.old), new: text($0.new)) }
    }
}

struct ComparisonTests {
    private func read(_ text: String) throws(Failure) -> DumpsConfiguration {
        try ConfigurationReader.read(text, file: "dumps.yaml")
    }

    /// Sets each key of a mapping to its example in turn and expects it to be the only change. The keys come from the
    /// reader's error messages, so a new key must have an example and be compared.
    ///
    /// - Parameters:
    ///   - name: the mapping's name in changes; the changes of its keys have this name, too, if it `isOne`.
    ///   - others: keys whose values are mappings.
    private func compare(
        _ name: String, _ examples: [String: String], from base: [String: String] = [:], others: Set<String> = [],
        isOne: Bool = false, in document: ([String]) -> String
    ) throws {
        func text(_ members: [String: String]) -> String { document(members.map { "\($0): \($1)" }.sorted()) }
        let old = try read(text(base))
        let error = #expect(throws: Failure.self) { try read(text(base.merging(["unheard-of": "1"]) { $1 })) }
        let keys = try #require(error?.remedy?.wholeMatch(of: /the keys here are (.*)/)?.1).split(separator: ", ")
        for key in keys.map(String.init) where !others.contains(key) {
            let example = try #require(examples[key], "\(name).\(key)")
            let changes = SettingChange.changes(from: old, to: try read(text(base.merging([key: example]) { $1 })))
            #expect(changes.map(\.name) == [isOne ? name : name.isEmpty ? key : "\(name).\(key)"])
        }
    }

    @Test func diffComparesEverySetting() throws {
        let budget = ["bundle": "1 MiB", "attachment": "2 MiB", "total": "3 MiB"]
        var guards = [
            "not-emptied": "false", "min-records": "2", "max-removed": "2", "max-changed": "10%", "max-added": "3",
            "max-growth": "50%", "required-ids": "[a]", "schema": "{type: string}",
        ]
        try compare(
            "", ["requires": "'>= 0.1'", "server": "stage", "allow-plain-http": "true", "compression": "stored"],
            others: ["version", "trust", "attachments", "budget", "guards", "collections"]
        ) { (["version: 1"] + $0).joined(separator: "\n") }
        func section(_ name: String) -> ([String]) -> String {
            { "version: 1\n\(name): {\($0.joined(separator: ", "))}\n" }
        }
        let trust = ["roots": "[\(States.digest("b").hex)]", "signer": "a.example", "accept-unsigned": "true"]
        try compare("trust", trust, in: section("trust"))
        let rule = ["include": "a == 1", "max-size": "1 MiB", "max-total": "2 MiB"]
        try compare("attachments", rule, isOne: true, in: section("attachments"))
        try compare("budget", budget, in: section("budget"))
        try compare("guards", guards, in: section("guards"))

        let name = "collections.main/a"
        func collection(_ settings: String) -> String {
            "version: 1\nattachments: none\ncompression: stored\nguards: {schema: {type: object}}\n"
                + "collections: {main/a: {\(settings)}}\n"
        }
        func part(_ key: String) -> ([String]) -> String {
            { collection($0.isEmpty ? "" : "\(key): {\($0.joined(separator: ", "))}") }
        }
        try compare(
            name, ["attachments": "all", "compression": "deflate"], others: ["pin", "acknowledged", "budget", "guards"]
        ) { collection($0.joined(separator: ", ")) }
        let pin = ["at": "8", "reason": "x", "until": "2030-01-01"]
        try compare("\(name).pin", pin, from: ["at": "7"], isOne: true, in: part("pin"))
        try compare(
            "\(name).acknowledged", ["error": "rollback", "until": "2030-01-02", "reason": "y"],
            from: ["error": "signature", "until": "2030-01-01", "reason": "x"], isOne: true, in: part("acknowledged"))
        try compare("\(name).budget", budget, in: part("budget"))
        guards["schema"] = "none"
        try compare("\(name).guards", guards, in: part("guards"))
        let listed = SettingChange.changes(
            from: try read("version: 1\n"), to: try read("version: 1\ncollections: {main/b: }\n"))
        #expect(listed.map(\.name) == ["collections.main/b"])
    }

    @Test func fieldsAreNamedWithBothValues() throws {
        let diff = try #require(
            try States.diff(
                [#"{"a":null,"gone":[1],"id":"r","inside":{"deep":{"x":1,"y":1}},"kind":{"z":1},"last_modified":1}"#],
                [#"{"a":0,"id":"r","inside":{"deep":{"x":2,"y":1}},"kind":"z","last_modified":2,"new":"\u00e9"}"#]))
        let fields = try #require(diff.records.first).fieldList
        #expect(
            fields == [
                Field(path: ["a"], old: "null", new: "0"), Field(path: ["gone"], old: "[1]"),
                Field(path: ["inside", "deep", "x"], old: "1", new: "2"),
                Field(path: ["kind"], old: #"{"z":1}"#, new: #""z""#),
                Field(path: ["last_modified"], old: "1", new: "2"), Field(path: ["new"], new: #""é""#),
            ])
    }

    @Test func diffKeepsUnicodeSpellingsApart() throws {
        let diff = try #require(try States.diff([#"{"id":"r","\u00e9":1}"#], [#"{"e\u0301":1,"id":"r"}"#]))
        let fields = try #require(diff.records.first).fieldList
        #expect(fields.map(\.old) == [nil, "1"] && fields.map(\.new) == ["1", nil])
    }

    @Test func everyFieldOfACreatedRecordIsNew() throws {
        let diff = try #require(try States.diff([], [#"{"id":"r","value":{"x":1}}"#]))
        let record = try #require(diff.records.first)
        #expect(record.fieldList.map(\.path) == [["id"], ["value"]])
        #expect(record.fieldList.allSatisfy { $0.old == nil })
    }

    @Test func diffIgnoresMemberOrder() throws {
        // Canonical JSON has a fixed order; an unverified bundle may use a different one.
        let diff = try #require(try States.diff([#"{"id":"r","b":1,"a":1}"#], [#"{"a":1,"id":"r","b":2}"#]))
        #expect(diff.records.first?.fieldList.map(\.path) == [["b"]])
    }

    @Test func diffShowsInvalidJSONRecordAsText() throws {
        let diff = try #require(try States.diff([#"{"id":"r","a":}"#], [#"{"id":"r","a":1}"#]))
        let fields = try #require(diff.records.first).fieldList
        #expect(fields.contains { $0.old == #""{\"id\":\"r\",\"a\":}""# })
        #expect(fields.contains { $0.path == ["a"] && $0.new == "1" })
    }

    /// commands/diff.txt covers added, removed and changed attachments.
    @Test func attachmentWithAnotherNameIsTheSameFile() throws {
        let diff = try #require(
            try States.diff(
                [States.attached("moved", "2", size: 5)], [States.attached("moved", "2", size: 5, name: "b.bin")]))
        #expect(diff.records.first?.attachment?.isSameFile == true)
    }

    /// Larger sizes are refused when a record is read, so even the largest possible sum is exact.
    @Test func diffSumsLargestAttachmentSizes() throws {
        let largest = RecordAttachment.mostBytes
        let diff = try #require(
            try States.diff([], [States.attached("a", "1", size: largest), States.attached("b", "2", size: largest)]))
        #expect(diff.attachments.addedBytes == 2 * largest)
    }

    @Test func diffShowsTimestampAndSigner() throws {
        let records = [#"{"id":"a"}"#]
        let signed = try States.snapshot(records, signer: "one")
        #expect(SnapshotDiff(from: signed, to: try States.snapshot(records, signer: "one"))?.status == .same)
        #expect(SnapshotDiff(from: signed, to: try States.snapshot(records, signer: "two"))?.status == .changed)
        #expect(SnapshotDiff(from: signed, to: try States.snapshot(records))?.status == .changed)
        let later = try States.snapshot(records, at: 1_760_000_000_001, signer: "one")
        #expect(SnapshotDiff(from: signed, to: later)?.status == .changed)
        #expect(SnapshotDiff(from: signed, to: later)?.records.isEmpty == true)
    }

    @Test func diffShowsChangedRoot() throws {
        let records = [#"{"id":"a"}"#]
        let (old, new) = (
            try States.snapshot(records, signer: "one"), try States.snapshot(records, signer: "one", root: "a")
        )
        let diff = try #require(SnapshotDiff(from: old, to: new))
        #expect(diff.status == .changed && diff.hasOtherRoot && !diff.isOnlySignedAgain)
        let report = DiffReport(old: "old", new: "new", collections: [diff])
        let note = "signed by one, root 0000000000000000… → signed by one, root aaaaaaaaaaaaaaaa…"
        #expect(DiffText(report).text.contains("    \(note)\n"))
        let markdown = DiffMarkdown(report).text
        #expect(markdown.contains("- Verified against a different root: `main/cases`\n"), "\(markdown)")
        #expect(markdown.contains(" → signed by one, root `aaaaaaaaaaaaaaaa…`"), "\(markdown)")
        var json: [UInt8] = []
        DiffJSON.write(report) { json += $0 }
        let collection = try JSONValue(parsing: Bytes(json))["collections"]?.array?.first
        #expect(collection?["new"]?["root"]?.string == String(repeating: "a", count: 64))
    }

    @Test func diffOrdersLargestChanges() throws {
        let sizes = (0..<200).map { $0 * 37 % 50 }
        let records = sizes.enumerated().map { index, size in
            #"{"id":"r\#(1_000 + index)","value":"\#(String(repeating: "x", count: size))"}"#
        }
        let changes = try #require(try States.diff([], records)).records
        let sorted = changes.sorted { $0.bytes == $1.bytes ? $0.id < $1.id : $0.bytes > $1.bytes }
        for most in [0, 1, 7, 60, 200, 300] {
            #expect(changes.largest(most).map(\.id) == sorted.prefix(most).map(\.id))
        }
    }

    @Test func oneChangeInTwoThousandRecordsIsFound() throws {
        var records = (0..<2_000).map { #"{"id":"r\#(10_000 + $0)","last_modified":\#($0),"value":"v"}"# }
        let old = try States.snapshot(records, at: 1)
        records[1_234] = #"{"id":"r11234","last_modified":9,"value":"w"}"#
        let diff = try #require(SnapshotDiff(from: old, to: try States.snapshot(records, at: 2)))
        #expect(diff.records.map(\.id) == ["r11234"])
        #expect(diff.records.first?.fieldList.map(\.path) == [["last_modified"], ["value"]])
    }
}
