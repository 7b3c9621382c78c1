#if Lab
import RemoteSettingsModel

/// The collection that every target speaks of.
let fuzzedCollection = CollectionID("main", "fuzz")

extension CollectionID {
    fileprivate init(_ bucket: String, _ name: String) {
        guard let id = try? CollectionID(bucket: bucket, name: name) else { preconditionFailure("not an id") }
        self = id
    }
}

private let jsonWords = [
    "\"metadata\":", "\"timestamp\":", "\"changes\":", "\"mirrored_metadata\":", "\"id\":", "\"last_modified\":",
    "\"deleted\":true", "\"deleted\":false", "\"attachment\":", "\"hash\":", "\"size\":", "\"location\":",
    "\"filter_expression\":", "\"bucket\":", "\"collection\":", "\"signature\":", "\"signatures\":", "\"x5u\":",
    "\"mode\":\"p384ecdsa\"", "\"bundle\":true", "\"data\":", "null", "true", "false", "{}", "[]", "\"\"", "\\u0000",
    "\\ud83d\\ude00", "\\ud800", "\\udc00", "\\\"", "\\\\", "\\/", "\\u007f", "\u{7F}", "\u{E9}", "e\u{301}", "😀",
    "\u{FEFF}", "\"a\":1,", "\"A\":1,", "\"\\u0061\":1,", "\"é\":1,", "\"e\u{301}\":1,", ",", ":", "\t", "\n", "1",
]

extension FuzzTarget {
    private static let jsonSeeds = [
        "{}", "[]", "0", "-0", "\"\"", "null", "[1,2.5,-3e-7,1E400]", #"{"b":1,"a":{"d":[],"c":"\u00e9\n"}}"#,
        "[0.1,1e21,5e-324,123456789012345678901]", #"{"a":1,"a":2}"#, "[\"\u{1F600}\\ud83d\\ude00\"]",
        " [ true , false ] ",
        #"{"\ud83d\ude00":1,"\uffee":2,"z":3,"é":4}"#, #"{"aaaaaaaab":1,"aaaaaaaaa":2,"aaaaaaaa":3}"#,
        "{" + (0..<30).map { "\"k\($0 * 7 % 30)\":\($0)" }.joined(separator: ",") + "}",
    ].map { Array($0.utf8) }

    static let json = FuzzTarget(
        "json", "JSON; canonical form and tree are those of a second implementation", words: jsonWords,
        seeds: { source in jsonSeeds + source.changesets }
    ) { input in
        let limits = Limits()
        let document = Bytes(input)
        let reference = try? ReferenceJSON(input, depth: limits.jsonDepth)
        let canonical = try? CanonicalJSON.canonicalize(document, limits: limits)
        let expected = reference?.canonical
        try require(
            canonical?.text == expected, "canonical: \(canonical?.text ?? "refused"), second: \(expected ?? "refused")")
        if let canonical {
            let again = try? CanonicalJSON.canonicalize(canonical, limits: limits)
            // A number such as 1E0 is no integer, and stays what it is.
            try require(again == canonical, "canonical form of the canonical form: \(again?.text ?? "refused")")
        }
        let tree = try? JSONValue(parsing: document, limits: limits)
        try require((tree == nil) == (reference == nil), "the reader and the second implementation disagree")
        guard let tree, let reference else { return }
        try require(tree.isSame(as: reference), "the trees differ")
        var reader = JSONReader(document, limits: limits)
        try require((try? reader.skipValue()) != nil && (try? reader.finish()) != nil, "read, but not skipped")
        for text in [
            JSONText.compact(tree), JSONText.indented(tree), JSONText.text(tree, .init(indent: nil, strings: .ascii)),
            JSONText.text(tree, .init(indent: 4, strings: .shortest)),
        ] {
            try require(
                (try? JSONValue(parsing: Bytes(text), limits: limits))?.isSame(as: reference) == true,
                "written and read again, it differs: \(String(decoding: text, as: UTF8.self))")
        }
    }

    static let changeset = FuzzTarget(
        "changeset", "a server's answer; the signed payload is that of a second implementation", longest: 8192,
        words: jsonWords, seeds: { source in changesetSeeds + source.changesets }
    ) { input in
        let limits = Limits()
        let expected = ReferenceChangeset(input, limits: limits)
        let changeset: Changeset
        do throws(FormatError) {
            changeset = try Changeset(parsing: Bytes(input), limits: limits)
        } catch {
            try require(!error.description.isEmpty, "an error without a text")
            try require(expected == nil || expected?.mayBeRefused == true, "refused: \(error)")
            return
        }
        guard let expected else { throw Finding("taken, but refused by the second implementation") }
        guard let unverified = try? changeset.snapshot(of: fuzzedCollection, onto: nil) else { return }
        try require(
            unverified.payload.bytes.text == expected.payload,
            "payload: \(unverified.payload.bytes.text), second: \(expected.payload)")
        try checkPayload(unverified.payload)
    }

    static let delta = FuzzTarget(
        "delta", "two answers, the second as a delta to the first; merged as in a dictionary", longest: 8192,
        words: jsonWords,
        seeds: { source in
            let all = changesetSeeds + source.changesets
            return zip(all, all.dropFirst()).map { $0 + [0] + $1 } + all.map { $0 + [0] + $0 }
        }
    ) { input in
        let limits = Limits()
        guard let cut = input.firstIndex(of: 0),
            let base = try? Changeset(parsing: Bytes(Array(input[..<cut])), limits: limits),
            let delta = try? Changeset(parsing: Bytes(Array(input[(cut + 1)...])), limits: limits),
            let merged = try? delta.snapshot(of: fuzzedCollection, onto: base.records)
        else { return }
        var model: [String: Bytes] = [:]
        for record in base.records { model[record.id] = record.json }
        for tombstone in delta.tombstones { model[tombstone.id] = nil }
        for record in delta.records { model[record.id] = record.json }
        let expected = model.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        try require(
            expected.map(\.key) == merged.records.map(\.id) && expected.map(\.value) == merged.records.map(\.json),
            "merged: \(merged.payload.bytes.text)")
        try checkPayload(merged.payload)
        var replayed = Dictionary(base.records.map { ($0.id, $0.json) }) { first, _ in first }
        for difference in merged.records.differences(from: base.records) {
            switch difference {
            case .created(let record), .updated(_, let record): replayed[record.id] = record.json
            case .deleted(let record): replayed[record.id] = nil
            }
        }
        try require(replayed == model, "the differences do not lead from the base to the merged records")
        for record in merged.records {
            try require(
                merged.records.record(id: record.id)?.json == record.json, "\(record.id) is not found by its id")
        }
    }

    static let changesetSeeds = [
        #"{"metadata":{"id":"fuzz","bucket":"main","signature":{"signature":"YQ","x5u":"https://h/c"}},"timestamp":7,"#
            + #""changes":[{"id":"b","last_modified":7,"x":1.5},{"id":"a","attachment":null,"deleted":false}]}"#,
        #"{"metadata":{},"timestamp":9,"changes":[{"id":"a","deleted":true,"last_modified":9},{"id":"c","é":[{}]}]}"#,
        #"{"metadata":{"attachment":{"bundle":true},"signatures":[]},"timestamp":18446744073709551615,"#
            + #""changes":[{"id":"r","attachment":{"#
            + #""hash":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","#
            + #""size":0,"location":"a/b","filename":"f"}}]}"#,
        #"{"timestamp":1,"metadata":{"id":"fuzz"},"mirrored_metadata":{"id":"fuzz"},"changes":[]}"#,
        #"{"metadata":{},"timestamp":3,"changes":[{"filter_expression":"env.x","id":"z1"},{"id":"Z-1"},{"id":"0_"}]}"#,
    ].map { Array($0.utf8) }

    /// What is written as a payload is read again as the same records.
    private static func checkPayload(_ payload: Payload) throws {
        let again: Payload
        do throws(FormatError) {
            again = try Payload(parsing: payload.bytes, limits: Limits())
        } catch {
            throw Finding("the payload that was written cannot be read: \(error): \(payload.bytes.text)")
        }
        try require(
            again.timestamp == payload.timestamp && again.records.map(\.id) == payload.records.map(\.id)
                && again.records.map(\.json) == payload.records.map(\.json), "read again, the records differ")
        try require(
            (try? CanonicalJSON.canonicalize(payload.bytes, limits: Limits())) == payload.bytes,
            "the payload is not canonical: \(payload.bytes.text)")
        for record in payload.records {
            do { _ = try record.attachment() } catch { try require(!"\(error)".isEmpty, "an error without a text") }
        }
    }
}

/// What a second implementation makes of a changeset.
private struct ReferenceChangeset {
    let payload: String
    /// Whether it has what is read under rules that are not modelled here.
    let mayBeRefused: Bool

    init?(_ input: [UInt8], limits: Limits) {
        guard let tree = try? ReferenceJSON(input, depth: limits.jsonDepth), case .object? = tree["metadata"],
            let timestamp = tree["timestamp"]?.unsigned, case .array(let changes)? = tree["changes"]
        else { return nil }
        var records: [(id: [UInt8], json: String)] = []
        for change in changes {
            guard case .object = change, let id = change["id"]?.text, Identifier.isValid(id.utf8),
                let json = change.canonical
            else { return nil }
            if case .literal("true")? = change["deleted"] { continue }
            records.append((Array(id.utf8), json))
        }
        guard Set(records.map(\.id)).count == records.count else { return nil }
        records.sort { $0.id.lexicographicallyPrecedes($1.id) }
        payload = #"{"data":[\#(records.map(\.json).joined(separator: ","))],"last_modified":"\#(timestamp)"}"#
        mayBeRefused = tree["mirrored_metadata"] != nil
    }
}

extension JSONValue {
    fileprivate func isSame(as other: ReferenceJSON) -> Bool {
        func isSame(_ text: String, _ scalars: [Unicode.Scalar]) -> Bool { text.unicodeScalars.elementsEqual(scalars) }
        switch (self, other) {
        case (.null, .literal(let word)): return word == "null"
        case (.bool(let value), .literal(let word)): return word == "\(value)"
        case (.number(let number), .number(let text)): return isSame(number.text, text)
        case (.string(let string), .string(let text)): return isSame(string, text)
        case (.array(let elements), .array(let others)):
            return elements.count == others.count && zip(elements, others).allSatisfy { $0.isSame(as: $1) }
        case (.object(let members), .object(let others)):
            return members.count == others.count
                && zip(members, others).allSatisfy { isSame($0.key, $1.key) && $0.value.isSame(as: $1.value) }
        default: return false
        }
    }
}
#endif
