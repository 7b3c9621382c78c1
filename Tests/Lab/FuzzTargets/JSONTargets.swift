import RemoteSettingsModel

/// The collection that all targets use.
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
        "json", "JSON; canonical form, tree and reader agree, and what is written is read again", words: jsonWords,
        seeds: { source in jsonSeeds + source.changesets }
    ) { input in
        let document = Bytes(input)
        let canonical = try? CanonicalJSON.canonicalize(document)
        let tree = try? JSONValue(parsing: document)
        try require(tree != nil || canonical == nil, "a document that the reader rejects has a canonical form")
        guard let tree else { return }
        if let canonical {
            // A number such as 1E0 is not an integer and remains unchanged.
            let again = try? CanonicalJSON.canonicalize(canonical)
            try require(again == canonical, "the canonical form is not stable: \(again?.text ?? "refused")")
        }
        var reader = JSONReader(document)
        try require((try? reader.skipValue()) != nil && (try? reader.finish()) != nil, "skipping it fails")
        for text in [
            JSONText.compact(tree), JSONText.indented(tree), JSONText.text(tree, .init(indent: nil, strings: .ascii)),
            JSONText.text(tree, .init(indent: 4, strings: .shortest)),
        ] {
            let text = Bytes(text)
            try require(
                (try? JSONValue(parsing: text)) == tree
                    && (try? CanonicalJSON.canonicalize(text)) == canonical,
                "the value differs when read back: \(text.text)")
        }
    }

    static let changeset = FuzzTarget(
        "changeset", "a server's answer; the signed payload is canonical, and read again as the same records",
        longest: 8192, words: jsonWords, seeds: { source in changesetSeeds + source.changesets }
    ) { input in
        guard let changeset = try accepted(try Changeset(parsing: Bytes(input))),
            let unverified = try? changeset.snapshot(of: fuzzedCollection, onto: nil)
        else { return }
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
        guard let cut = input.firstIndex(of: 0),
            let base = try? Changeset(parsing: Bytes(Array(input[..<cut]))),
            let delta = try? Changeset(parsing: Bytes(Array(input[(cut + 1)...]))),
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
        try require(replayed == model, "the differences do not turn the base into the merged records")
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

    /// Checks that a written payload is read back with the same records.
    private static func checkPayload(_ payload: Payload) throws {
        let again: Payload
        do throws(Failure) {
            again = try Payload(parsing: payload.bytes)
        } catch {
            throw Finding("the payload that was written cannot be read: \(error): \(payload.bytes.text)")
        }
        try require(
            again.timestamp == payload.timestamp && again.records.map(\.id) == payload.records.map(\.id)
                && again.records.map(\.json) == payload.records.map(\.json), "the records differ when read back")
        try require(
            (try? CanonicalJSON.canonicalize(payload.bytes)) == payload.bytes,
            "the payload is not canonical: \(payload.bytes.text)")
        for record in payload.records {
            _ = try accepted(try record.attachment())
        }
    }
}
