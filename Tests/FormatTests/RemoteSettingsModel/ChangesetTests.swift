import Testing
@testable import RemoteSettingsModel

struct ChangesetTests {
    private let markets: CollectionID

    init() throws {
        markets = try CollectionID("main/markets")
    }

    private func changeset(
        _ changes: String, timestamp: String = "1000", metadata: String = #"{"id":"markets","bucket":"main"}"#
    ) throws(Failure) -> Changeset {
        let body = #"{"metadata":\#(metadata),"timestamp":\#(timestamp),"changes":\#(changes)}"#
        return try Changeset(parsing: Bytes(utf8: body))
    }

    @Test func payloadOfChangeset() throws {
        let answer = try changeset(
            #"[{"id":"b","last_modified":2,"z":1.5,"é":"ü","deleted":false},{"attachment":null,"last_modified":1,"id":"a"}]"#
        )
        let snapshot = try answer.snapshot(of: markets, onto: nil)
        #expect(
            snapshot.payload.bytes.text
                == #"{"data":[{"attachment":null,"id":"a","last_modified":1},{"deleted":false,"id":"b","last_modified":2,"z":1.5E0,"\u00e9":"\u00fc"}],"last_modified":"1000"}"#
        )
        #expect(snapshot.timestamp == Timestamp(milliseconds: 1000))
        #expect(answer.records.map(\.id) == ["a", "b"])
    }

    @Test func payloadOfEmptyCollection() throws {
        let snapshot = try changeset("[]").snapshot(of: markets, onto: nil)
        #expect(snapshot.payload.bytes.text == #"{"data":[],"last_modified":"1000"}"#)
        #expect(try Payload(parsing: snapshot.payload.bytes).records.isEmpty)
    }

    /// Only a direct member of a record is its attachment, even if the key contains escapes.
    @Test func nestedMemberIsNoAttachment() throws {
        let file = #"{"location":"l","hash":"\#(String(repeating: "a", count: 64))","size":3}"#
        let answer = try changeset(
            #"[{"id":"a","x":{"attachment":\#(file)}},{"id":"b","\u0061ttachment":\#(file)},{"attachment":null,"id":"c"}]"#
        )
        let written = try answer.snapshot(of: markets, onto: nil).payload
        for records in [answer.records, written.records, try Payload(parsing: written.bytes).records] {
            #expect(try records.map { try $0.attachment()?.size } == [nil, 3, nil])
        }
    }

    /// The server includes `attachment: null` and `deleted: false` in the signed data (observed with kinto-attachment
    /// 9).
    @Test func nullAndFalseMembersAreKept() throws {
        let text =
            #"{"data":[{"attachment":null,"deleted":false,"id":"a"},{"deleted":null,"id":"b"}],"last_modified":"1000"}"#
        let answer = try changeset(
            #"[{"id":"b","deleted":null},{"id":"a","deleted":false,"attachment":null},{"deleted":true,"id":"c"}]"#)
        let full = try answer.snapshot(of: markets, onto: nil).payload
        #expect(full.bytes.text == text)
        #expect(try full.records.record(id: "a")?.attachment() == nil)
        let base = try changeset(#"[{"id":"a","v":1},{"id":"c"}]"#).records
        #expect(try answer.snapshot(of: markets, onto: base).payload.bytes.text == text)
        let unchanged = try changeset("[]").snapshot(of: markets, onto: full.records)
        #expect(unchanged.payload.bytes.text == text)
        #expect(try Array(Payload(parsing: full.bytes).records) == Array(full.records))
    }

    @Test func deltaIsApplied() throws {
        let base = try changeset(#"[{"id":"a","v":1},{"id":"b","v":1},{"id":"c","v":1},{"id":"d","v":1}]"#).records
        // Tombstones may or may not have last_modified.
        let delta = try changeset(
            #"[{"id":"c","v":2},{"id":"a0","v":9},{"id":"a","deleted":true},{"id":"d","deleted":true,"last_modified":7},{"id":"gone","deleted":true}]"#,
            timestamp: "2000")
        #expect(delta.tombstones.count == 3)
        #expect(delta.tombstones[0] == Tombstone(id: "a", lastModified: nil))
        #expect(delta.tombstones[1] == Tombstone(id: "d", lastModified: Timestamp(milliseconds: 7)))
        let merged = try delta.snapshot(of: markets, onto: base)
        #expect(
            merged.payload.bytes.text
                == #"{"data":[{"id":"a0","v":9},{"id":"b","v":1},{"id":"c","v":2}],"last_modified":"2000"}"#)
    }

    @Test func payloadIsReadAsWritten() throws {
        let answer = try changeset(
            #"[{"id":"a-1","id2":{"id":"no"},"list":[{"id":"no"},"}]"]},{"b":"\"\\","id":"b"},{"id":"c","attachment":{"location":"l","hash":"\#(String(repeating: "a", count: 64))","size":3,"filename":"f","mimetype":"m"}}]"#
        )
        let written = try answer.snapshot(of: markets, onto: nil).payload
        let read = try Payload(parsing: written.bytes)
        let records = read.records
        #expect(read.timestamp == answer.timestamp)
        #expect(Array(records) == Array(answer.records))
        // The written payload has the same record table as the payload parsed from it.
        #expect(Array(written.records) == Array(records))
        #expect(written.timestamp == read.timestamp)
        #expect(written.records.mayMentionFilters == records.mayMentionFilters)
        #expect(try Changeset.emptyAnswer(onto: records, of: markets, at: read.timestamp).bytes == written.bytes)
        #expect(records.record(id: "b")?.field("b") == .string("\"\\"))
        #expect(records.record(id: "zz") == nil)
        #expect(try records.record(id: "c")?.attachment()?.size == 3)
        #expect(try records.record(id: "b")?.attachment() == nil)
    }

    @Test(arguments: [
        (#"[{"id":"a","filter_expression":""}]"#, true), (#"[{"id":"a","z":{"filter_expression":""}}]"#, false),
        (#"[{"id":"a"}]"#, false), ("[]", false), (#"[{"id":"b","deleted":true}]"#, false),
    ])
    func mayMentionFilters(_ changes: String, _ mentions: Bool) throws {
        let answer = try changeset(changes)
        let payload = try answer.snapshot(of: markets, onto: nil).payload
        #expect(payload.records.mayMentionFilters == mentions)
        #expect(try Payload(parsing: payload.bytes).records.mayMentionFilters == mentions)
        // A delta keeps the value of its base.
        let merged = try changeset("[]").snapshot(of: markets, onto: payload.records).payload
        #expect(merged.records.mayMentionFilters == mentions)
        #expect(Array(merged.records) == Array(payload.records))
    }

    @Test(arguments: [
        #"{"data":[],"last_modified":"x"}"#, #"{"data":[],"last_modified":"1"} "#,
        #"{"data":[{"id":"b"},{"id":"a"}],"last_modified":"1"}"#,
        #"{"data":[{"id":"a"},{"id":"a"}],"last_modified":"1"}"#, #"{"data":[{"di":"a"}],"last_modified":"1"}"#,
        #"{"data":[{"id":7}],"last_modified":"1"}"#, #"{"data":[{"id":"../a"}],"last_modified":"1"}"#,
        #"{"data":["id"],"last_modified":"1"}"#,
        #"{"data":[{"id":"a"}],"last_modified":1}"#, #"{"data":[{"id":"a"}"#, "", #"{"data":[{"id":"a\"#,
    ])
    func invalidPayloadIsRefused(_ text: String) {
        #expect(throws: Failure.self) { try Payload(parsing: Bytes(utf8: text)) }
    }

    @Test func invalidChangesetIsNamed() throws {
        #expect(throws: Failure.duplicateRecord("a")) { try changeset(#"[{"id":"a"},{"id":"b"},{"id":"a"}]"#) }
        #expect(throws: Failure.invalidRecordID("../x")) { try changeset(#"[{"id":"../x"}]"#) }
        #expect(throws: Failure.invalidRecordID("-x")) { try changeset(#"[{"id":"-x"}]"#) }
        #expect(throws: Failure.missing("metadata")) {
            try Changeset(parsing: Bytes(utf8: #"{"timestamp":1,"changes":[]}"#))
        }
        #expect(throws: Failure.self) { try changeset("[]", timestamp: "1.5") }
        #expect(throws: Failure.self) { try changeset("[]", timestamp: "-1") }
        #expect(throws: Failure.self) { try changeset("{}") }
        #expect(throws: Failure.self) { try changeset("[7]") }
        #expect(throws: Failure.self) { try changeset(#"[{"id":8}]"#) }
        #expect(throws: Failure.tooManyRecords(limit: 2)) {
            let changes = #"[{"id":"a"},{"id":"b"},{"id":"c"}]"#
            let body = #"{"metadata":{},"timestamp":1,"changes":\#(changes)}"#
            return try Changeset(parsing: Bytes(utf8: body), records: 2)
        }
        #expect(throws: Failure.otherCollection(expected: markets, found: "main/others")) {
            try changeset("[]", metadata: #"{"id":"others","bucket":"main"}"#).snapshot(of: markets, onto: nil)
        }
    }

    /// Unverified metadata has a size limit: parsing 259 kB once took 3.7 GB of memory.
    @Test(arguments: ["metadata", "mirrored_metadata"])
    func metadataSizeIsLimited(_ member: String) throws {
        let limit = 1 << 20
        func changeset(_ text: String) throws -> Changeset {
            let metadata = member == "metadata" ? "" : #""metadata":{},"#
            let body = #"{\#(metadata)"\#(member)":\#(text),"timestamp":1,"changes":[]}"#
            return try Changeset(parsing: Bytes(utf8: body))
        }
        for padding in ["a", "\u{FC}", "\\n", #"\u00e9"#] {
            let room = limit - #"{"x":""}"#.utf8.count
            let fits = #"{"x":"\#(String(repeating: padding, count: room / padding.utf8.count))"}"#
            _ = try changeset(fits)
            for more in [1, 2, 14] {
                let tooLong = #"{"x":"\#(String(repeating: padding, count: room / padding.utf8.count + more))"}"#
                guard tooLong.utf8.count > limit else { continue }
                let error = #expect(throws: Failure.self) { try changeset(tooLong) }
                #expect(error?.problem == Failure.tooLong(limit: limit).problem)
            }
        }
        #expect(throws: Failure.self) { try changeset(String(repeating: "[", count: 100)) }
        let padded = Bytes(utf8: String(repeating: " ", count: limit - 1) + "{}")
        #expect(throws: Failure(.tooLong(limit: limit), at: 0)) { try CollectionMetadata(parsing: padded) }
    }

    @Test func metadataValuesAreLimited() throws {
        let values = Array(repeating: "[]", count: 300_000).joined(separator: ",")
        #expect(throws: Failure.self) { try CollectionMetadata(parsing: Bytes(utf8: "{\"x\":[\(values)]}")) }
    }

    /// A single record with 40 MB of member names once took gigabytes of memory.
    @Test func recordSizeIsLimited() throws {
        func record(_ bytes: Int) -> String {
            let frame = #"{"id":"a","x":""}"#
            return #"{"id":"a","x":"\#(String(repeating: "x", count: bytes - frame.utf8.count))"}"#
        }
        let most = 16 << 20
        _ = try changeset("[\(record(most))]")
        #expect(throws: Failure.recordTooLarge(offset: 73, what: "bytes (Limits.recordBytes)", limit: most)) {
            try changeset("[\(record(most + 1))]")
        }
        #expect(throws: Failure.self) {
            try Payload(parsing: Bytes(utf8: #"{"data":[\#(record(most + 1))],"last_modified":"1"}"#))
        }
        let members = (0...100_000).map { #""m\#($0)":1"# }.joined(separator: ",")
        #expect(throws: Failure.self) { try changeset(#"[{"id":"a",\#(members)}]"#) }
        #expect(throws: Failure.self) { try changeset(#"[{"id":"a","x":{\#(members)}}]"#) }
        let values = Array(repeating: "1", count: 250_000).joined(separator: ",")
        #expect(throws: Failure.self) { try changeset(#"[{"id":"a","x":[\#(values)]}]"#) }
    }

    @Test func attachmentSizeIsLimited() throws {
        let hash = String(repeating: "a", count: 64)
        func size(_ size: String) throws -> UInt64? {
            let attachment = #"{"location":"l","hash":"\#(hash)","size":\#(size)}"#
            return try changeset(#"[{"id":"a","attachment":\#(attachment)}]"#).records[0].attachment()?.size
        }
        #expect(try size("9007199254740992") == RecordAttachment.mostBytes)
        for text in ["9007199254740993", "9223372036854775807", "18446744073709551615"] {
            #expect(throws: Failure.self) { try size(text) }
        }
    }

    @Test func signaturesOfMetadata() throws {
        let list =
            #"{"signatures":[{"signature":"s","mode":"p384ecdsa","x5u":"u"},{"signature":"t","mode":"new","x5u":"v"}]}"#
        #expect(try changeset("[]", metadata: list).metadata.signatures.map(\.mode) == ["p384ecdsa", "new"])
        let single = #"{"signature":{"signature":"s","x5u":"u"},"attachment":{"bundle":true}}"#
        let metadata = try changeset("[]", metadata: single).metadata
        #expect(metadata.signatures == [ServedSignature(signature: "s", mode: "p384ecdsa", x5u: "u")])
        #expect(metadata.hasAttachmentsZip)
        #expect(metadata.json.text == single)
    }

    /// Some servers rewrite the URLs in only one of `signatures` and `signature`, so either may lead to the chain.
    @Test(arguments: [
        (["u"], "u", ["u"]), (["u"], "w", ["u", "w"]), (["u", "v"], "v", ["u", "v"]), (["u", "u"], "u", ["u", "u"]),
        ([], "w", ["w"]), (["u"], nil, ["u"]),
    ])
    func everyChainURLOfASignatureIsRead(listed: [String], single: String?, expected: [String]) throws {
        func entry(_ url: String) -> String { #"{"signature":"s","mode":"p384ecdsa","x5u":"\#(url)"}"# }
        let list = listed.map(entry).joined(separator: ",")
        let also = single.map { #","signature":\#(entry($0))"# } ?? ""
        let metadata = try changeset("[]", metadata: #"{"signatures":[\#(list)]\#(also)}"#).metadata
        #expect(metadata.signatures.map(\.x5u) == expected)
    }

    @Test func damagedMetadataIsNamed() throws {
        for (text, kind) in [("[]", "an array"), ("null", "null"), ("3", "a number"), (#""x""#, "a string")] {
            let error = #expect(throws: Failure.self) { try changeset("[]", metadata: text) }
            #expect(
                error?.description
                    == "the collection's metadata is damaged: in its text, \(kind) where an object is expected at "
                    + "byte 0"
            )
        }
    }
}

extension Changeset {
    /// The payload after a response without changes: the same records, serialized again.
    fileprivate static func emptyAnswer(
        onto base: RecordTable, of id: CollectionID, at timestamp: Timestamp
    ) throws -> Payload {
        let body = #"{"metadata":{},"timestamp":\#(timestamp),"changes":[]}"#
        return try Changeset(parsing: Bytes(utf8: body)).snapshot(of: id, onto: base).payload
    }
}
