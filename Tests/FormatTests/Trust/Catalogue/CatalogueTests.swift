import Dumps
import Foundation
import RemoteSettingsModel
@testable import SnapshotBundle
import Testing

private let hash = String(repeating: "ab", count: 32)

/// Records as a signed payload has them: canonical, sorted by id.
private func table(_ records: [String]) throws -> RecordTable {
    try RecordTable(records.map { try CanonicalJSON.canonicalize(Bytes(utf8: $0), limits: Limits()) }, limits: Limits())
}

private func catalogue(_ changes: [String: String] = [:], without member: String? = nil) -> String {
    var members = [
        "id": #""catalogue""#, "format": "1", "publisher": #""a.example""#, "number": "12", "made": "100",
        "confirmed": "200", "expires": "300",
    ].merging(changes) { _, new in new }
    if let member { members[member] = nil }
    return "{" + members.sorted { $0.key < $1.key }.map { #""\#($0.key)":\#($0.value)"# }.joined(separator: ",") + "}"
}

private func listed(_ id: String = "main_-c", _ bucket: String = "main", _ name: String = "c") -> String {
    #"{"id":"\#(id)","bucket":"\#(bucket)","collection":"\#(name)","timestamp":90,"sha256":"\#(hash)","records":3}"#
}

private let removed = #"{"id":"main_-gone","bucket":"main","collection":"gone","removed":7}"#

struct CatalogueRecordsTests {
    @Test func recordsAreReadAndWritten() throws {
        let catalogue = try Catalogue(
            table([catalogue(), listed(), listed("a__b_-x__", "a_b", "x_"), removed]))
        #expect(catalogue.publisher.description == "a.example" && catalogue.number == 12)
        #expect(catalogue.expires == Timestamp(milliseconds: 300))
        let entry = try #require(catalogue.entries[CollectionID("main/c")])
        #expect(entry.timestamp.milliseconds == 90 && entry.records == 3 && entry.payload.hex == hash)
        #expect(try catalogue.entries.keys.sorted() == [CollectionID("a_b/x_"), CollectionID("main/c")])
        #expect(try catalogue.removed == [CollectionID("main/gone"): 7])
        let texts = catalogue.records.map { id, members in
            String(decoding: JSONText.compact(.object([.init(key: "id", value: .string(id))] + members)), as: UTF8.self)
        }
        #expect(try Catalogue(table(texts)) == catalogue)
    }

    /// Of one room: `a_/b` and `a/_b` have ids of their own.
    @Test func noTwoCollectionsShareAnID() throws {
        let names = ["a", "a_", "a__", "a-", "a_-", "a-_", "a_-b", "a__-", "a_-_", "a-b", "a_b", "b", "0_-a"]
        var seen: [String: CollectionID] = [:]
        for bucket in names {
            for name in names {
                let id = try CollectionID(bucket: bucket, name: name)
                let other = seen.updateValue(id, forKey: Catalogue.recordID(of: id))
                #expect(other == nil, "\(id) and \(other?.description ?? "")")
            }
        }
        #expect(seen["catalogue"] == nil)
    }

    @Test func membersOfLaterVersionsAreLeftAside() throws {
        let catalogue = try Catalogue(table([catalogue(["signed-by": "[1]", "last_modified": "5"]), listed()]))
        #expect(catalogue.entries.count == 1)
    }

    @Test(arguments: [
        [listed()], [catalogue(without: "format")], [catalogue(["format": "1.0"])], [catalogue(without: "publisher")],
        [catalogue(["publisher": #""A.example""#])], [catalogue(["publisher": #""""#])],
        [catalogue(["publisher": #""a/b""#])],
        [catalogue(["publisher": "\"\(String(repeating: "a", count: 65))\""])], [catalogue(["publisher": #""-a""#])],
        [catalogue(["number": "0"])], [catalogue(["number": "-1"])], [catalogue(["number": "1.5"])],
        [catalogue(["number": "9007199254740992"])], [catalogue(["number": "18446744073709551615"])],
        [catalogue(["number": #""12""#])], [catalogue(without: "made")], [catalogue(["made": "201"])],
        [catalogue(["confirmed": "301"])], [catalogue(["expires": "9007199254740992"])],
        [catalogue(), listed("main_-d")],
        [catalogue(), listed("publisher_-catalogue", "publisher", "catalogue")],
        [catalogue(), listed().replacing(hash, with: "ab")],
        [catalogue(), listed().replacing(hash, with: hash.uppercased())],
        [catalogue(), listed().replacing("90", with: "-90")],
        [catalogue(), listed().replacing(":3", with: ":2147483648")],
        [catalogue(), listed().replacing(":3", with: ":null")],
        [catalogue(), listed().replacing(#""bucket":"main","#, with: "")],
        [catalogue(), listed().replacing("90", with: #"90,"removed":3"#)],
        [catalogue(), removed.replacing("7", with: "13")], [catalogue(), removed.replacing("7", with: "0")],
        [catalogue(), removed.replacing("7", with: "true")],
        [catalogue(), removed.replacing(":7", with: #":7,"sha256":"\#(hash)""#)],
    ])
    func anythingElseIsNoCatalogue(_ records: [String]) throws {
        let table = try table(records)
        let error = #expect(throws: BundleError.self) { try Catalogue(table) }
        #expect(error?.code == .malformed, "\(String(describing: error))")
    }

    @Test func aLaterFormatIsNamed() throws {
        let table = try table([catalogue(["format": "2", "publisher": "{}"])])
        #expect(throws: BundleError.laterFormat(2)) { try Catalogue(table) }
    }

    @Test func theHighestNumberIsRead() throws {
        #expect(try Catalogue(table([catalogue(["number": "9007199254740991"])])).number == Catalogue.highestNumber)
    }

    /// The schema and the reader agree about each of these, as far as a schema can see: it sees one record, and no sums.
    @Test func theSchemaAllowsWhatIsWrittenAndRefusesWhatIsNot() throws {
        let path = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
            .appending(path: "Sources/Format/SnapshotBundle/Documentation.docc/Resources/catalogue-record.schema.json")
        let text = try Bytes(Array(Data(contentsOf: path)))
        let schema = try RecordSchema(JSONValue(parsing: text, limits: Limits()))
        func problems(_ record: String) throws -> Int {
            var budget = RecordSchema.budget()
            return try schema.violations(
                of: JSONValue(parsing: Bytes(utf8: record), limits: Limits()), budget: &budget
            ).count
        }
        for record in [catalogue(), listed(), removed, catalogue(["more": "{}"])] { #expect(try problems(record) == 0) }
        let wrong = [
            catalogue(["number": "0"]), catalogue(["number": "9007199254740992"]), catalogue(without: "expires"),
            catalogue(["publisher": #""A""#]), catalogue(["format": "2"]), listed().replacing(hash, with: "ab"),
            listed().replacing("90", with: #"90,"removed":3"#), removed.replacing("7", with: "0"), #"{"id":"x"}"#,
        ]
        for record in wrong { #expect(try problems(record) > 0, "\(record)") }
    }
}

struct CatalogueSuccessionTests {
    private static func publisher(_ name: String) -> PublisherName {
        guard let publisher = PublisherName(name) else { preconditionFailure("no name") }
        return publisher
    }

    private func time(_ milliseconds: UInt64) -> Timestamp { Timestamp(milliseconds: milliseconds) }

    private func verified(
        _ number: UInt64, _ listed: [String: UInt64], removed: [String: UInt64] = [:], confirmed: UInt64 = 10,
        publisher name: String = "a", begins: UInt64? = 5
    ) throws -> VerifiedCatalogue {
        let catalogue = Catalogue(
            publisher: Self.publisher(name), number: number, made: time(1), confirmed: time(confirmed),
            expires: time(99),
            entries: Dictionary(
                uniqueKeysWithValues: try listed.map { name, timestamp in
                    let payload = try #require(SHA256Digest(repeatElement(UInt8(timestamp), count: 32)))
                    return (try CollectionID(name), .init(timestamp: time(timestamp), payload: payload, records: 1))
                }),
            removed: Dictionary(uniqueKeysWithValues: try removed.map { (try CollectionID($0), $1) }))
        return VerifiedCatalogue(catalogue, certificateBegins: begins.map(time))
    }

    @Test func aHigherNumberFollows() throws {
        let held = try verified(3, ["main/a": 1, "main/b": 2])
        try verified(4, ["main/a": 1, "main/b": 7]).checkSuccession(of: held)
        try verified(900, ["main/a": 1], removed: ["main/b": 5]).checkSuccession(of: held)
        // Numbers decide, not the times of single collections: the publisher may take a state back.
        try verified(4, ["main/a": 1, "main/b": 1, "main/c": 1], confirmed: 2).checkSuccession(of: held)
        try verified(Catalogue.highestNumber, ["main/a": 1, "main/b": 2]).checkSuccession(of: held)
    }

    @Test func aLowerNumberDoesNot() throws {
        let held = try verified(3, ["main/a": 1])
        #expect(throws: BundleError.olderCatalogue(found: 2, held: 3)) {
            try verified(2, ["main/a": 1], confirmed: 50).checkSuccession(of: held)
        }
    }

    @Test func theSameNumberMeansTheSameStates() throws {
        let held = try verified(3, ["main/a": 1], removed: ["main/b": 2])
        try verified(3, ["main/a": 1], removed: ["main/b": 2], confirmed: 11).checkSuccession(of: held)
        try verified(3, ["main/a": 1], removed: ["main/b": 2]).checkSuccession(of: held)
        for other in [
            try verified(3, ["main/a": 2], removed: ["main/b": 2]), try verified(3, ["main/a": 1, "main/b": 2]),
            try verified(3, ["main/a": 1], removed: ["main/b": 3]),
            try verified(3, ["main/a": 1, "main/c": 1], removed: ["main/b": 2]),
        ] {
            #expect(throws: BundleError.sameNumberOtherStates(3)) { try other.checkSuccession(of: held) }
        }
        #expect(throws: BundleError.olderConfirmation(found: time(9), held: time(10))) {
            try verified(3, ["main/a": 1], removed: ["main/b": 2], confirmed: 9).checkSuccession(of: held)
        }
    }

    @Test func whatWasListedIsListedOrSaidToBeRemoved() throws {
        let held = try verified(3, ["main/a": 1, "main/b": 2], removed: ["main/c": 2])
        #expect(throws: BundleError.unlisted([try CollectionID("main/b"), try CollectionID("main/c")])) {
            try verified(4, ["main/a": 1]).checkSuccession(of: held)
        }
        // What was removed may come back.
        try verified(4, ["main/a": 1, "main/b": 2, "main/c": 1]).checkSuccession(of: held)
    }

    @Test func anErrorNamesAFewOfManyCollections() throws {
        let ids = try (0..<200_000).map { try CollectionID("main/c\($0)") }
        #expect(BundleError.unlisted(ids).description.count < 300)
    }

    @Test func anotherPublisherDoesNotFollow() throws {
        let held = try verified(3, ["main/a": 1], publisher: "production")
        #expect(throws: BundleError.self) {
            try verified(4, ["main/a": 1], publisher: "staging").checkSuccession(of: held)
        }
        // Not even under a later certificate.
        #expect(throws: BundleError.self) {
            try verified(4, ["main/a": 1], publisher: "staging", begins: 50).checkSuccession(of: held)
        }
    }

    @Test func aLaterCertificateBeginsAnew() throws {
        let fastForwarded = try verified(Catalogue.highestNumber, ["main/a": 9, "main/extra": 9])
        try verified(12, ["main/a": 1], begins: 6).checkSuccession(of: fastForwarded)
        #expect(throws: BundleError.olderCatalogue(found: 12, held: Catalogue.highestNumber)) {
            try verified(12, ["main/a": 1]).checkSuccession(of: fastForwarded)
        }
        // Whoever has the replaced key cannot come back.
        let healed = try verified(12, ["main/a": 1], begins: 6)
        #expect(throws: BundleError.earlierCertificate(found: time(5), held: time(6))) {
            try fastForwarded.checkSuccession(of: healed)
        }
    }

    @Test func withoutSignaturesNumbersOnlyGrow() throws {
        #expect(throws: BundleError.olderCatalogue(found: 2, held: 3)) {
            try verified(2, ["main/a": 1], begins: nil).checkSuccession(of: verified(3, ["main/a": 1], begins: nil))
        }
    }

    /// Whoever has the key for a day may write any end into a confirmation.
    @Test func aConfirmationEndsWithItsTermAndItsCertificate() throws {
        var catalogue = try verified(3, ["main/a": 1]).catalogue
        catalogue.expires = time(Catalogue.highestNumber)
        let year = time(10).advanced(by: .seconds(366 * 86_400))
        #expect(VerifiedCatalogue(catalogue, certificateBegins: nil).freshUntil == year)
        #expect(
            VerifiedCatalogue(catalogue, certificateBegins: time(5), certificateEnds: time(70)).freshUntil
                == time(70))
        catalogue.expires = time(60)
        let own = VerifiedCatalogue(catalogue, certificateBegins: time(5), certificateEnds: time(70))
        #expect(own.freshUntil == time(60) && own.isFresh(at: time(60)) && !own.isFresh(at: time(61)))
    }

    @Test func whatAServerAnswersMustBeConfirmedIfItIsTheFirst() throws {
        let limits = Limits()
        let later = try verified(4, ["main/a": 1])
        try later.checkAcceptance(after: nil, at: time(99), limits: limits)
        #expect(throws: BundleError.expired(4, since: time(99))) {
            try later.checkAcceptance(after: nil, at: time(100), limits: limits)
        }
        // It is newer than what is held, so that it is taken although nothing confirms it.
        try later.checkAcceptance(after: verified(3, ["main/a": 1]), at: time(100), limits: limits)
        let day = UInt64(Limits.clockToleranceSeconds) * 1000
        let ahead = try verified(4, ["main/a": 1], confirmed: 11 + day)
        #expect(throws: BundleError.confirmedAhead(found: time(11 + day), now: time(10))) {
            try ahead.checkAcceptance(after: verified(3, ["main/a": 1]), at: time(10), limits: limits)
        }
        try ahead.checkAcceptance(after: verified(3, ["main/a": 1]), at: time(11), limits: limits)
    }

    @Test func errorsAreSentences() throws {
        let errors: [BundleError] = [
            .malformed("x"), .laterFormat(2),
            .otherPublisher(found: Self.publisher("a"), expected: Self.publisher("b")),
            .olderCatalogue(found: 1, held: 2), .sameNumberOtherStates(1),
            .olderConfirmation(found: time(1), held: time(2)),
            .unlisted([try CollectionID("main/a")]), .earlierCertificate(found: time(1), held: time(2)),
            .expired(1, since: time(1)), .confirmedAhead(found: time(2), now: time(1)),
        ]
        for error in errors { #expect(error.description.hasPrefix("publisher/catalogue: "), "\(error)") }
    }
}
