#if Lab
import RemoteSettingsModel
import SnapshotBundle

extension FuzzTarget {
    static let catalogue = FuzzTarget(
        "catalogue", "the records of a catalogue; what was read is written and read again, and follows itself",
        longest: 2048,
        words: [
            "{\"data\":[", "],\"last_modified\":\"1\"}", "\"id\":\"catalogue\"", "\"format\":1",
            "\"publisher\":\"a.b-c\"",
            "\"number\":", "\"made\":", "\"confirmed\":", "\"expires\":", "\"bucket\":\"main\"", "\"collection\":\"c\"",
            "\"timestamp\":", "\"sha256\":\"\(digest)\"", "\"records\":", "\"removed\":", "main_-c", "publisher",
            "catalogue", "__", "_-", "9007199254740991", "9007199254740992", "18446744073709551615", "-1", "1.0",
        ],
        seeds: { _ in
            [
                #"{"data":[{"bucket":"main","collection":"c","id":"main_-c","records":3,"sha256":"\#(digest)","#
                    + #""timestamp":7},{"bucket":"main","collection":"old_flags","id":"main_-old__flags","removed":2},"#
                    + #"{"confirmed":8,"expires":9,"format":1,"id":"catalogue","made":7,"number":3,"#
                    + #""publisher":"settings.example.org"}],"last_modified":"8"}"#,
                #"{"data":[{"confirmed":1,"expires":9007199254740991,"format":1,"id":"catalogue","made":0,"#
                    + #""number":9007199254740991,"publisher":"a"}],"last_modified":"8"}"#,
                #"{"data":[],"last_modified":"1"}"#,
            ].map { Array($0.utf8) }
        }
    ) { input in
        guard let payload = try? Payload(parsing: Bytes(input), limits: Limits()) else { return }
        let catalogue: Catalogue
        do throws(CatalogueError) {
            catalogue = try Catalogue(payload.records)
        } catch {
            try require(!error.description.isEmpty, "an error without a text")
            return
        }
        try require(catalogue.entries.keys.allSatisfy { catalogue.removed[$0] == nil }, "listed and removed")
        try require(catalogue.entries[Catalogue.collection] == nil, "it lists itself")
        try require(1...Catalogue.highestNumber ~= catalogue.number, "a number out of range")
        let texts = catalogue.records.map { id, members in
            Bytes(JSONText.compact(.object([.init(key: "id", value: .string(id))] + members)))
        }
        let table = try RecordTable(
            texts.map { try CanonicalJSON.canonicalize($0, limits: Limits()) }, limits: Limits())
        try require(table.count == texts.count, "two collections have one id")
        try require(try Catalogue(table) == catalogue, "what was written is read as another catalogue")
        let held = VerifiedCatalogue(catalogue, certificateBegins: catalogue.made)
        do throws(CatalogueError) {
            try held.checkSuccession(of: held)
        } catch {
            throw Finding("a catalogue does not follow itself: \(error)")
        }
        var next = catalogue
        (next.number, next.entries) = (catalogue.number.saturatingAdding(1), [:])
        let forgets =
            (try? VerifiedCatalogue(next, certificateBegins: catalogue.made)
                .checkSuccession(of: held)) != nil
        try require(!forgets || catalogue.entries.isEmpty, "a catalogue that forgets collections follows")
    }

    private static let digest = String(repeating: "ab", count: 32)
}
#endif
