import Foundation
import RemoteSettingsModel
import Testing
@testable import SnapshotBundle

@Suite struct LockFileTests {
    private func lock() throws -> LockFile {
        let markets = try CollectionID("main/markets")
        let onecrl = try CollectionID("security-state/onecrl")
        let tail = try CollectionID("main-preview/x")
        func collection(_ id: CollectionID, _ trust: Provenance, omitted: [Omission] = []) -> LockFile.Collection {
            LockFile.Collection(
                server: "https://example.org/v2", timestamp: Timestamp(milliseconds: 1_700_000_000_123), records: 3,
                attachments: 2, omitted: omitted, content: digest([1]),
                bundle: LockFile.Bundle(collection: id, size: 1234, sha256: digest([2])), trust: trust)
        }
        let signature = SignatureVerdict(
            signer: "remote-settings.content-signature.mozilla.org", root: digest([3]),
            chainNotAfter: Timestamp(milliseconds: 1_800_000_000_000),
            verifiedAt: Timestamp(milliseconds: 1_700_000_100_000))
        return LockFile(collections: [
            onecrl: collection(onecrl, .signed(signature)),
            markets: collection(
                markets, .unsigned,
                omitted: [
                    Omission(reason: .filter, count: 1, bytes: 5), Omission(reason: .maxSize, count: 2, bytes: 9),
                ]),
            tail: collection(tail, .imported),
        ])
    }

    private func error(_ text: String) -> Failure? {
        let error = failure(of: { try LockFile(parsing: Bytes(utf8: text), path: "dumps/dumps.lock.json") })
        #expect(error == nil || error?.place == "dumps/dumps.lock.json")
        return error
    }

    @Test func lockFileIsReadAsWritten() throws {
        let lock = try lock()
        #expect(try LockFile(parsing: Bytes(lock.text), path: "l") == lock)
        #expect(try LockFile(parsing: Bytes(LockFile().text), path: "l") == LockFile())
    }

    /// A signed state at 2^53 once produced a lock file that no later command could read.
    @Test(arguments: [253_402_300_800_000, 1 << 53, 999_999_999_999_999_999, .max] as [UInt64])
    func lockFileReadsLargeTimestamps(milliseconds: UInt64) throws {
        var lock = try lock()
        for id in lock.collections.keys {
            lock.collections[id]?.timestamp = Timestamp(milliseconds: milliseconds)
            lock.collections[id]?.trust = .signed(
                SignatureVerdict(
                    signer: "s", root: digest([3]), chainNotAfter: Timestamp(milliseconds: milliseconds),
                    verifiedAt: Timestamp(milliseconds: milliseconds)))
        }
        #expect(try LockFile(parsing: Bytes(lock.text), path: "l") == lock)
    }

    @Test func lockFileTextIsFixed() throws {
        let markets = try CollectionID("main/markets")
        var lock = try lock()
        lock.collections = lock.collections.filter { $0.key == markets }
        let expected = """
            {
              "version": 1,
              "collections": {
                "main/markets": {
                  "server": "https://example.org/v2",
                  "timestamp": 1700000000123,
                  "lastModified": "2023-11-14T22:13:20.123Z",
                  "records": 3,
                  "attachments": 2,
                  "attachmentRule": "all",
                  "omitted": [
                    {
                      "reason": "filter",
                      "count": 1,
                      "bytes": 5
                    },
                    {
                      "reason": "max-size",
                      "count": 2,
                      "bytes": 9
                    }
                  ],
                  "content": "\(digest([1]))",
                  "bundle": {
                    "path": "main/markets.zip",
                    "size": 1234,
                    "sha256": "\(digest([2]))"
                  },
                  "trust": "unsigned"
                }
              }
            }

            """
        #expect(String(decoding: lock.text, as: UTF8.self) == expected)
        #expect(String(decoding: LockFile().text, as: UTF8.self) == "{\n  \"version\": 1,\n  \"collections\": {}\n}\n")
    }

    @Test func lockFileCollectionsAreSorted() throws {
        let text = String(decoding: try lock().text, as: UTF8.self)
        let places = try ["\"main/markets\"", "\"main-preview/x\"", "\"security-state/onecrl\""].map {
            try #require(text.range(of: $0)).lowerBound
        }
        #expect(places == places.sorted())
        #expect(try JSONSerialization.jsonObject(with: Data(text.utf8)) is [String: Any])
    }

    @Test func unknownLockVersionIsRefusedFirst() throws {
        let newer = try #require(error("{\"version\": 2, \"whatever\": [}"))
        #expect(newer.code == .unknownVersion)
        #expect(newer.description.contains("update"))
        #expect(error("{\"version\": \"1\", \"collections\": {}}")?.code == .malformed)
        #expect(error("{\"collections\": {}, \"version\": 1}")?.code == .malformed)
        #expect(error("{\"version\": 1}")?.problem == "the key \"collections\" is missing")
        let more = try #require(error("{\"version\": 1, \"collections\": {}, \"more\": 1}"))
        #expect(more.code == .unknownVersion && more.entry == "line 1, more")
        for text in ["", "[]", "{", "null", "{\"version\": 1, \"collections\": {}} x", "{\"version\": 1.0}"] {
            #expect(error(text)?.code == .malformed)
        }
    }

    @Test(arguments: [
        ("\"path\": \"main/markets.zip\"", "\"path\": \"../markets.zip\"", "collections.main/markets.bundle.path"),
        ("\"path\": \"main/markets.zip\"", "\"path\": \"main/x.zip\"", "collections.main/markets.bundle.path"),
        ("\"path\": \"main/markets.zip\"", "\"path\": \"/main/markets.zip\"", "collections.main/markets.bundle.path"),
        ("\"records\": 3", "\"records\": \"3\"", "collections.main/markets.records"),
        ("\"records\": 3", "\"records\": -3", "collections.main/markets.records"),
        ("\"records\": 3", "\"records\": 3.5", "collections.main/markets.records"),
        ("\"records\": 3", "\"recs\": 3", "collections.main/markets.recs"),
        ("\"reason\": \"filter\"", "\"reason\": \"Filter!\"", "collections.main/markets.omitted.[0].reason"),
        ("\"reason\": \"filter\"", "\"reason\": \"zzz\"", "collections.main/markets"),
        ("\"2023-11-14T22:13:20.123Z\"", "\"2023-11-14\"", "collections.main/markets.lastModified"),
        ("\"2023-11-14T22:13:20.123Z\"", "\"2023-11-14T22:13:20.124Z\"", "collections.main/markets"),
        ("\"trust\": \"unsigned\"", "\"trust\": \"trusted\"", "collections.main/markets.trust"),
        ("\"trust\": \"unsigned\"", "\"trust\": {}", "collections.main/markets.trust"),
        ("\"trust\": \"unsigned\"", "\"trust\": {\"signed\": {}}", "collections.main/markets.trust.signed"),
        ("\"trust\": \"unsigned\"", "\"trust\": null", "collections.main/markets.trust"),
        ("\"main/markets\": {", "\"../markets\": {", "collections.../markets"),
        ("\"attachments\": 2,", "", "collections.main/markets.attachmentRule"),
        ("\"records\": 3,", "\"records\": 3, \"records\": 3,", "collections.main/markets"),
        ("\"records\": 3,", "\"attachments\": 2, \"records\": 3,", "collections.main/markets.attachments"),
    ])
    func invalidLockMemberIsNamed(part: String, replacement: String, place: String) throws {
        let markets = try CollectionID("main/markets")
        var lock = try lock()
        lock.collections = lock.collections.filter { $0.key == markets }
        let text = String(decoding: lock.text, as: UTF8.self)
        try #require(text.contains(part))
        let found = try #require(error(text.replacingOccurrences(of: part, with: replacement)))
        let entry = try #require(found.entry)
        #expect(entry.hasPrefix("line "))
        #expect(entry.hasSuffix(", " + place))
    }

    /// The catalogue in a lock file from before 1.0 is ignored on reading and omitted on writing.
    @Test func catalogueOfEarlierVersionsIsLeftOut() throws {
        let id = try CollectionID("publisher/catalogue")
        var lock = try lock()
        let expected = String(decoding: lock.text, as: UTF8.self)
        let onecrl = try #require(lock.collections[CollectionID("security-state/onecrl")])
        lock.collections[id] = onecrl
        lock.collections[id]?.bundle = LockFile.Bundle(collection: id, size: 1234, sha256: digest([2]))
        let text = String(decoding: lock.text, as: UTF8.self)
        for member in ["{\"publisher\": \"a\", \"number\": 7}", "[{}]", "null"] {
            let old = text.replacing(
                "\"collections\"", with: "\"catalogue\": \(member), \"collections\"", maxReplacements: 1)
            let read = try LockFile(parsing: Bytes(utf8: old), path: "l")
            #expect(read.retired == id && String(decoding: read.text, as: UTF8.self) == expected)
        }
        // Without the reference, it is an ordinary collection.
        let plain = try LockFile(parsing: Bytes(lock.text), path: "l")
        #expect(plain.retired == nil && plain.collections[id] != nil)
    }

    @Test func uppercaseLockHashIsRefused() throws {
        let text = String(decoding: try lock().text, as: UTF8.self)
        let hex = digest([1]).hex
        for other in [hex.uppercased(), String(hex.dropLast()), hex + "0", "x" + hex.dropFirst()] {
            #expect(error(text.replacingOccurrences(of: hex, with: other))?.code == .malformed)
        }
    }

    @Test func truncatedLockIsRefused() throws {
        let original = try lock().text
        for count in 0..<original.count - 1 {
            #expect(throws: Failure.self) { try LockFile(parsing: Bytes(Array(original[..<count])), path: "l") }
        }
    }
}
