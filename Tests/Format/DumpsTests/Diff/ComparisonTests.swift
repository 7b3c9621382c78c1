import RemoteSettingsModel
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
    @Test func statesOfEqualBytesAreTheSame() throws {
        let records = [#"{"id":"a","value":1}"#]
        let diff = try #require(
            SnapshotDiff(from: try States.snapshot(records), to: try States.snapshot(records)))
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
        #expect(diff.count(.created) == 1 && diff.count(.updated) == 1 && diff.count(.deleted) == 1)
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

    @Test func twoSpellingsOfANameAreTwoFields() throws {
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

    @Test func membersInAnotherOrderAreNoDifference() throws {
        // Canonical JSON has one order; a bundle that nobody verified may have another.
        let diff = try #require(
            try States.diff([#"{"id":"r","b":1,"a":1}"#], [#"{"a":1,"id":"r","b":2}"#]))
        #expect(diff.records.first?.fieldList.map(\.path) == [["b"]])
    }

    @Test func aRecordThatIsNoJSONIsShownAsItsText() throws {
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
    @Test func theLargestSizesAreSummed() throws {
        let largest = RecordAttachment.mostBytes
        let diff = try #require(
            try States.diff([], [States.attached("a", "1", size: largest), States.attached("b", "2", size: largest)]))
        #expect(diff.attachments.addedBytes == 2 * largest)
    }

    @Test func aCollectionThatOneSideLacks() throws {
        let state = try States.snapshot([#"{"id":"a"}"#])
        #expect(SnapshotDiff(from: nil, to: state)?.status == .added)
        #expect(SnapshotDiff(from: nil, to: state)?.count(.created) == 1)
        #expect(SnapshotDiff(from: state, to: nil)?.status == .removed)
        #expect(SnapshotDiff(from: state, to: nil)?.count(.deleted) == 1)
        #expect(SnapshotDiff(from: nil, to: nil) == nil)
    }

    @Test func anotherTimestampOrSignerIsAChange() throws {
        let records = [#"{"id":"a"}"#]
        let signed = try States.snapshot(records, signer: "one")
        #expect(SnapshotDiff(from: signed, to: try States.snapshot(records, signer: "one"))?.status == .same)
        #expect(SnapshotDiff(from: signed, to: try States.snapshot(records, signer: "two"))?.status == .changed)
        #expect(SnapshotDiff(from: signed, to: try States.snapshot(records))?.status == .changed)
        let later = try States.snapshot(records, at: 1_760_000_000_001, signer: "one")
        #expect(SnapshotDiff(from: signed, to: later)?.status == .changed)
        #expect(SnapshotDiff(from: signed, to: later)?.records.isEmpty == true)
    }

    @Test func theLargestChangesAreFoundInTheirOrder() throws {
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
