@testable import RemoteSettingsModel
import Testing
@testable import Dumps

/// A changed field: its names, and its values as compact JSON.
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
    /// The keys come from the reader's own errors, so a new one needs an example here, and has to be compared.
    @Test func diffComparesEverySetting() throws {
        let plain =
            "version: 1\nserver: prod\ntrust: {}\nattachments: {}\nbudget: {}\nguards: {}\n"
        let general = "attachments: none\ncompression: stored\nguards: {schema: {type: object}}\n"
        let hash = String(repeating: "b", count: 64)
        let examples = [
            "requires": "'>= 0.1'", "server": "stage", "allow-plain-http": "true", "compression": "stored",
            "trust.roots": "[\(hash)]", "trust.signer": "a.example", "trust.accept-unsigned": "true",
            "attachments.include": "a == 1", "attachments.max-size": "1 MiB", "attachments.max-total": "2 MiB",
            "budget.bundle": "1 MiB", "budget.attachment": "2 MiB", "budget.total": "3 MiB",
            "guards.not-emptied": "false", "guards.min-records": "2", "guards.max-removed": "2",
            "guards.max-changed": "10%", "guards.max-added": "3", "guards.max-growth": "50%",
            "guards.required-ids": "[a]", "guards.schema": "{type: string}",
            "collections": "{main/b: }", "pin.at": "8", "pin.reason": "x", "pin.until": "2030-01-01",
        ]
        func read(_ text: String) throws(Failure) -> DumpsConfiguration {
            try ConfigurationReader.read(text, file: "dumps.yaml")
        }
        func names(_ old: String, _ new: String) throws -> [String] {
            try SettingChange.changes(from: read(old), to: read(new)).map(\.name)
        }
        func keys(_ text: String) throws -> [String] {
            let error = #expect(throws: Failure.self) { try read(text) }
            let list = try #require(error?.remedy?.wholeMatch(of: /the keys here are (.*)/)?.1)
            return list.split(separator: ", ").map { "\($0)" }
        }
        let sections = ["trust", "attachments", "budget", "guards"]
        for key in try keys(plain + "unheard-of: 1\n") where key != "version" {
            guard sections.contains(key) else {
                let line = "\(key): \(try #require(examples[key], "\(key)"))\n"
                let text = plain.split(separator: "\n").filter { !$0.hasPrefix("\(key):") }.joined(separator: "\n")
                let name = key == "collections" ? "collections.main/b" : key
                #expect(try names(plain, text + "\n" + line) == [name])
                continue
            }
            let section = plain.replacing("\(key): {}", with: "")
            for inner in try keys(section + "\(key): {unheard-of: 1}\n") {
                let value = try #require(examples["\(key).\(inner)"], "\(key).\(inner)")
                let changed = try names(plain, section + "\(key): {\(inner): \(value)}\n")
                #expect(changed == [key == "attachments" ? key : "\(key).\(inner)"])
            }
        }
        func collection(_ settings: String) -> String { general + "version: 1\ncollections: {main/a: {\(settings)}}\n" }
        for key in try keys(collection("unheard-of: 1")) {
            let prefix = "collections.main/a.\(key)"
            switch key {
            case "attachments": #expect(try names(collection(""), collection("\(key): all")) == [prefix])
            case "compression": #expect(try names(collection(""), collection("\(key): deflate")) == [prefix])
            case "pin":
                for inner in try keys(collection("pin: {unheard-of: 1}")) {
                    let value = try #require(examples["pin.\(inner)"], "\(inner)")
                    let at = inner == "at" ? "" : "at: 7, "
                    #expect(try names(collection("pin: 7"), collection("pin: {\(at)\(inner): \(value)}")) == [prefix])
                }
            case "acknowledged":
                let terms = ["error": "signature", "until": "2030-01-01", "reason": "x"]
                let others = ["error": "rollback", "until": "2030-01-02", "reason": "y"]
                func text(_ terms: [String: String]) -> String {
                    collection("\(key): {" + terms.map { "\($0): \($1)" }.joined(separator: ", ") + "}")
                }
                for inner in try keys(collection("\(key): {unheard-of: 1}")) {
                    let changed = terms.merging(others.filter { $0.key == inner }) { $1 }
                    #expect(try names(text(terms), text(changed)) == [prefix], "\(inner)")
                }
            default:
                for inner in try keys(collection("\(key): {unheard-of: 1}")) {
                    let example = inner == "schema" ? "none" : examples["\(key).\(inner)"]
                    let value = try #require(example, "\(key).\(inner)")
                    let changed = try names(collection(""), collection("\(key): {\(inner): \(value)}"))
                    #expect(changed == ["\(prefix).\(inner)"])
                }
            }
        }
    }

    @Test func diffOfEqualStates() throws {
        let records = [#"{"id":"a","value":1}"#]
        let diff = try #require(SnapshotDiff(from: try States.snapshot(records), to: try States.snapshot(records)))
        #expect(diff.status == .same)
        #expect(diff.records.isEmpty)
    }

    @Test func recordsAreComparedByID() throws {
        let diff = try #require(
            try States.diff(
                [#"{"id":"a","value":1}"#, #"{"id":"b","value":1}"#, #"{"id":"d","value":1}"#],
                [#"{"id":"a","value":1}"#, #"{"id":"b","value":2}"#, #"{"id":"c","value":1}"#]))
        #expect(diff.records.map(\.id) == ["b", "c", "d"])
        #expect(diff.records.map(\.kind) == [.updated, .created, .deleted])
        #expect(diff.counts.created == 1 && diff.counts.updated == 1 && diff.counts.deleted == 1)
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
        // Canonical JSON has one order; a bundle that nobody verified may have another.
        let diff = try #require(try States.diff([#"{"id":"r","b":1,"a":1}"#], [#"{"a":1,"id":"r","b":2}"#]))
        #expect(diff.records.first?.fieldList.map(\.path) == [["b"]])
    }

    @Test func diffShowsInvalidJSONRecordAsText() throws {
        let diff = try #require(try States.diff([#"{"id":"r","a":}"#], [#"{"id":"r","a":1}"#]))
        let fields = try #require(diff.records.first).fieldList
        #expect(fields.contains { $0.old == #""{\"id\":\"r\",\"a\":}""# })
        #expect(fields.contains { $0.path == ["a"] && $0.new == "1" })
    }

    @Test func attachmentsAreAddedRemovedAndChanged() throws {
        let diff = try #require(
            try States.diff(
                [
                    States.attached("changed", "1", size: 10), States.attached("moved", "2", size: 5),
                    States.attached("removed", "3", size: 7),
                ],
                [
                    States.attached("added", "4", size: 100), States.attached("changed", "5", size: 20),
                    States.attached("moved", "2", size: 5, name: "b.bin"),
                ]))
        let changes = Dictionary(uniqueKeysWithValues: diff.records.map { ($0.id, $0.attachment) })
        guard case .added(let added)?? = changes["added"], case .removed(let removed)?? = changes["removed"],
            case .changed(let old, let new)?? = changes["changed"], case .changed?? = changes["moved"]
        else {
            Issue.record("other changes: \(changes)")
            return
        }
        #expect(added.size == 100 && removed.size == 7 && old.size == 10 && new.size == 20)
        #expect(changes["moved"]??.isSameFile == true)
        var counts = AttachmentCounts()
        (counts.added, counts.removed, counts.changed) = (1, 1, 1)
        (counts.addedBytes, counts.removedBytes) = (120, 17)
        #expect(diff.attachments == counts)
    }

    /// What is beyond it is refused where a record is read, so that sums of as many as there can be are exact.
    @Test func diffSumsLargestAttachmentSizes() throws {
        let largest = RecordAttachment.mostBytes
        let diff = try #require(
            try States.diff([], [States.attached("a", "1", size: largest), States.attached("b", "2", size: largest)]))
        #expect(diff.attachments.addedBytes == 2 * largest)
    }

    @Test func diffOfAddedOrRemovedCollection() throws {
        let state = try States.snapshot([#"{"id":"a"}"#])
        #expect(SnapshotDiff(from: nil, to: state)?.status == .added)
        #expect(SnapshotDiff(from: nil, to: state)?.counts.created == 1)
        #expect(SnapshotDiff(from: state, to: nil)?.status == .removed)
        #expect(SnapshotDiff(from: state, to: nil)?.counts.deleted == 1)
        #expect(SnapshotDiff(from: nil, to: nil) == nil)
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
