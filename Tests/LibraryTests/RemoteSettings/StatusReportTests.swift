import Foundation
import RemoteSettingsHTTP
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing
@testable import RemoteSettings

/// Status reports: an app encodes its service's state, and a fleet's collector decodes it.
@Suite struct StatusReportTests {
    let place: Workplace

    init() throws { place = try Workplace() }

    private static let day = Timestamp(milliseconds: 1_800_000_000_123)

    private static var inspection: ServiceInspection {
        let verdict = SignatureVerdict(
            signer: "remote-settings.content-signature.mozilla.org", root: SHA256Digest(hashing: Bytes(utf8: "root")),
            chainNotAfter: day.advanced(by: .seconds(86_400)), verifiedAt: day)
        let attempt = SyncFailures.Attempt(at: day, trigger: .timer, status: .networkError, error: "no route")
        let words = CollectionStatus(
            collection: "main/words", source: .packaged("dumps"), timestamp: day, age: .milliseconds(90_500),
            recordCount: 2, provenance: .signed(verdict), isVerifiedOnDevice: true,
            unused: [
                .init(source: .cached, timestamp: day, reason: .older),
                .init(source: .noSnapshot, timestamp: nil, reason: .failedInApp("the app's check refused it")),
            ], recentFailure: RecentFailure(error: .backoff(.seconds(30)), nextTry: day))
        let markets = CollectionStatus(
            collection: "main/markets", source: .noSnapshot, timestamp: nil, age: nil, recordCount: nil,
            provenance: nil, unused: [], recentFailure: nil)
        return ServiceInspection(
            server: "https://settings.test/v1", isPreview: false, storage: "storage",
            lastCheck: day, clockSkew: .milliseconds(-1500), backoffUntil: day.advanced(by: .seconds(30)),
            collections: [
                .init(status: markets, serverTimestamp: nil, lastSuccess: nil, failures: nil, hasClient: false),
                .init(
                    status: words, serverTimestamp: day.advanced(by: .seconds(60)), lastSuccess: day,
                    failures: SyncFailures(count: 1, since: day, attempts: [attempt]), hasClient: true),
            ])
    }

    /// The JSON format that collectors depend on, in any programming language.
    private static let document = """
        {
          "server": "https://settings.test/v1", "preview": false, "storage": "storage",
          "lastAttempt": 1800000000123, "lastSuccess": 1800000000123,
          "clockSkewSeconds": -1.5, "backoffUntil": 1800000030123,
          "collections": [
            {
              "collection": "main/markets", "source": {"kind": "none"}, "verifiedOnDevice": false, "unused": [],
              "pinned": false, "hasClient": false
            },
            {
              "collection": "main/words", "source": {"kind": "packaged", "name": "dumps"},
              "timestamp": 1800000000123, "ageSeconds": 90.5, "records": 2,
              "provenance": {
                "kind": "signed",
                "verdict": {
                  "signer": "remote-settings.content-signature.mozilla.org",
                  "root": "4813494d137e1631bba301d5acab6e7bb7aa74ce1185d456565ef51d737677b2",
                  "chainNotAfter": 1800086400123, "verifiedAt": 1800000000123
                }
              },
              "verifiedOnDevice": true,
              "unused": [
                {
                  "source": {"kind": "cached"}, "timestamp": 1800000000123,
                  "reason": {"code": "older", "text": "a newer snapshot exists"}
                },
                {
                  "source": {"kind": "none"},
                  "reason": {
                    "code": "failedInApp", "why": "the app's check refused it",
                    "text": "it was rejected: the app's check refused it"
                  }
                }
              ],
              "recentFailure": {
                "error": {"code": "backoff", "seconds": 30, "text": "the server asked clients to wait; try again in 30 s"},
                "nextTry": 1800000000123
              },
              "serverTimestamp": 1800000060123, "behindSeconds": 60,
              "lastAttempt": 1800000000123, "lastSuccess": 1800000000123,
              "failures": {
                "count": 1, "since": 1800000000123,
                "attempts": [
                  {
                    "at": 1800000000123, "trigger": "timer", "status": "network_error",
                    "error": "no route"
                  }
                ]
              },
              "error": "no route", "pinned": false, "hasClient": true
            }
          ]
        }
        """

    private static func decode(_ text: String) throws -> ServiceInspection {
        try JSONDecoder().decode(ServiceInspection.self, from: Data(text.utf8))
    }

    private static func decoded<Value: Codable>(_ value: Value) throws -> Value {
        try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value))
    }

    private static func object(_ text: Data) throws -> NSDictionary? {
        try JSONSerialization.jsonObject(with: text) as? NSDictionary
    }

    @Test func statusReportJSONShape() throws {
        #expect(try Self.decode(Self.document) == Self.inspection)
        #expect(try Self.object(JSONEncoder().encode(Self.inspection)) == Self.object(Data(Self.document.utf8)))
    }

    @Test func statusReportRoundTrip() throws {
        #expect(try Self.decoded(Self.inspection) == Self.inspection)
        let reasons: [CollectionStatus.Unused.Reason] = [
            .older, .otherServer(found: "a", expected: "b"), .otherBucket(found: "a"), .unsigned, .signatureLost,
            .notTrusted("a"), .notFound,
            .invalidName("a"), .damaged("a"), .failedInApp("a"), .packagedOnly, .unreadableSource("a"), .unknown("a"),
        ]
        #expect(try Self.decoded(reasons) == reasons)
        let errors: [RemoteSettingsError] = [
            .cancelled, .closed, .noClient, .offline(reason: "a"), .unavailable(reason: "a"), .timedOut(reason: "a"),
            .notAllowed(reason: "a"), .backoff(.milliseconds(1)), .untrusted(reason: "a"), .rejected(reason: "a"),
            .storage(reason: "a"), .invalidName(reason: "a"), .notFound(reason: "a"), .other(reason: "a"),
        ]
        #expect(try Self.decoded(errors) == errors)
        let sources: [CollectionStatus.Source] = [
            .cached, .packaged("dumps"), .override("markets.json"), .noSnapshot, .unknown("peer"),
        ]
        #expect(try Self.decoded(sources) == sources)
        #expect(try Self.decoded([Provenance.imported, .unsigned]) == [.imported, .unsigned])
        #expect(try Self.decoded(UptakeEvent.Status.allCases) == UptakeEvent.Status.allCases)
        for edge in [Timestamp(milliseconds: 0), Timestamp(milliseconds: .max)] {
            #expect(try Self.decoded([edge]) == [edge])
        }
    }

    @Test func statusCountsRecordsOverFilterBudget() async throws {
        let collection = try place.collection()
        for number in 0..<300 {
            try collection.put("r\(number)", ["filter_expression": "env.text|regExpMatch('b\(number)') == null"])
        }
        try collection.put("unfiltered", [:])
        let text = String(repeating: "a", count: 60_000)
        let service = place.service { $0.appContext = RemoteSettingsContext(customTargetingAttributes: ["text": text]) }
        let client = service.makeClient(collectionName: collection.name)
        try await client.sync()
        let records = try #require(client.records)
        let status = try #require(service.inspect().collections.first).status
        #expect(records.contains { $0.id == "unfiltered" } && records.count > 10)
        #expect(status.unevaluatedRecords == 301 - records.count && status.unevaluatedRecords > 0)
        #expect(try Self.decoded(status) == status)
        #expect("\(service.inspect())".contains("records omitted, because evaluating all filters takes too much work"))
        #expect(try Self.decoded(Self.inspection).collections.allSatisfy { $0.status.unevaluatedRecords == 0 })
    }

    /// A path may contain a person's name.
    @Test func statusReportHidesDirectoryPaths() throws {
        let sources: [CollectionStatus.Source] = [.packaged("/Users/jane/App/dumps"), .override("/Users/jane/x.json")]
        #expect(try Self.decoded(sources) == [.packaged("dumps"), .override("x.json")])
        var inspection = Self.inspection
        inspection.storage = "/Users/jane/Library/storage"
        #expect(try Self.decoded(inspection) == Self.inspection)
        for storage in [":memory:", "/", ""] {
            inspection.storage = storage
            #expect(try Self.decoded(inspection) == inspection)
        }
    }

    /// A service with synced, failed and pinned collections.
    @Test func statusReportOfARealService() async throws {
        let (first, second) = (try place.collection("a"), try place.collection("a"))
        let file = try place.write(#"[{"id":"a"}]"#, to: "pinned.json")
        let service = place.service {
            $0.limits.all.tries = 1
            $0.overrides = [.file(file, of: "pinned")]
        }
        let clients = [first.name, second.name, "pinned"].map { service.makeClient(collectionName: $0) }
        try await service.sync()
        let before = try #require(service.lastCheck)
        second.sign([SignatureForm(isTampered: true)])
        for collection in [first, second] { try collection.put("b") }
        await #expect(throws: RemoteSettingsError.self) { try await service.sync() }
        let local = try await service.inspectWithServer()
        var expected = local
        expected.storage = "storage"
        expected.collections = local.collections.map { collection in
            var collection = collection
            if collection.isPinned { collection.status.source = .override("pinned.json") }
            return collection
        }
        let report = try Self.decoded(local)
        #expect(report == expected && "\(report)".contains("syncs failed") == "\(local)".contains("syncs failed"))
        let byName = Dictionary(uniqueKeysWithValues: report.collections.map { ($0.status.collection, $0) })
        let (good, bad) = (try #require(byName[first.id]), try #require(byName[second.id]))
        #expect(good.lastSuccess == service.lastCheck && good.lastAttempt == good.lastSuccess && good.lastError == nil)
        #expect(bad.lastSuccess == before && bad.lastError != nil && bad.behind.map { $0 > .zero } == true)
        #expect(bad.lastAttempt.map { $0 >= before } == true && bad.status.provenance?.isSigned == true)
        #expect(byName["main/pinned"]?.isPinned == true && byName["main/pinned"]?.lastSuccess == nil)
        // A later process reports the same time; syncing one collection does not count as success for the others.
        let later = place.service()
        try await later.makeClient(collectionName: first.name).sync()
        let next = later.inspect().collections.filter { $0.status.collection == second.id }
        #expect(next.map(\.lastSuccess) == [before])
        withExtendedLifetime(clients) {}
    }

    // MARK: Reports from other versions

    @Test func statusReportReadsUnknownCases() throws {
        let changes = [
            #""kind": "packaged""#: #""kind": "peer", "distance": 3"#, #""code": "older""#: #""code": "stale""#,
            #""code": "backoff""#: #""code": "lost""#, #""trigger": "timer""#: #""trigger": "push""#,
            #""network_error""#: #""dns_error""#, #""preview": false"#: #""preview": false, "new": [{"a": null}]"#,
        ]
        var text = Self.document
        for (old, new) in changes {
            #expect(text.contains(old))
            text = text.replacing(old, with: new)
        }
        let words = try #require(try Self.decode(text).collections.last)
        #expect(words.status.source == .unknown("peer"))
        #expect(words.status.unused.first?.reason == .unknown("a newer snapshot exists"))
        #expect(
            words.status.recentFailure?.error
                == .other(reason: "the server asked clients to wait; try again in 30 s"))
        #expect(words.failures?.attempts.map(\.trigger) == [.unknown])
        #expect(words.failures?.attempts.map(\.status) == [.unknownError])
        #expect(words.lastError == "no route" && words.lastAttempt == Self.day)
        #expect("\(try Self.decode(text))".contains("the cached snapshot"))
        #expect(try Self.decoded(words) == words)
        let nameless = #"{"code": "stale"}"#
        let reason = try JSONDecoder().decode(CollectionStatus.Unused.Reason.self, from: Data(nameless.utf8))
        #expect(reason == .unknown("stale"))
    }

    /// A collector receives reports from any device: hostile ones are rejected or decoded, but never trap.
    @Test func hostileReportsCannotTrap() throws {
        let refused = [
            #": 1800000000123"#: [#": "2027-01-15""#, ": -1", ": 1.5", ": 1e300", ": 18446744073709551616"],
            #""4813494d137e1631bba301d5acab6e7bb7aa74ce1185d456565ef51d737677b2""#: [#""4813""#, "[]"],
            #""records": 2"#: [#""records": 1e300"#, #""records": 2.5"#], #""kind": "signed""#: [#""kind": "sealed""#],
            #""count": 1"#: [#""count": 9223372036854775808"#],
            #""pinned": false, "hasClient": true"#: [#""pinned": false"#],
        ]
        for (old, news) in refused {
            for new in news {
                let text = Self.document.replacing(old, with: new)
                #expect(text != Self.document)
                #expect(throws: DecodingError.self, "\(new)") { try Self.decode(text) }
            }
        }
        for text in ["", "[]", "null", "{}", String(repeating: "[", count: 100_000)] {
            #expect(throws: (any Error).self) { try Self.decode(text) }
        }
        let accepted = [
            #""count": 1"#: [#""count": -9223372036854775808"#, #""count": 9223372036854775807"#],
            #""records": 2"#: [#""records": -9223372036854775808"#],
            #""ageSeconds": 90.5"#: [#""ageSeconds": 1e308"#, #""ageSeconds": -1e308"#],
            #""clockSkewSeconds": -1.5"#: [#""clockSkewSeconds": 9223372036854775.807"#],
            #""seconds": 30"#: [#""seconds": -1e300"#, #""seconds": 1e300"#],
            "1800000060123": ["18446744073709551615", "0"],
            #""main/words""#: [#""../\u0000/é""#, #""""#],
        ]
        for (old, news) in accepted {
            for new in news {
                let text = Self.document.replacing(old, with: new)
                #expect(text != Self.document)
                let read = try Self.decode(text)
                #expect(!read.description.isEmpty && read.lastAttempt == Self.day)
                #expect(try Self.decoded(read) == read, "\(new)")
            }
        }
    }

    // MARK: Without network or storage

    @Test func inspectWorksOfflineWithoutStorage() async throws {
        let collection = try place.collection("a")
        try place.write("x", to: "file")
        for storage in [place.path("none"), "\(place.path("file"))/storage", ":memory:"] {
            let service = RemoteSettingsService(
                storageDirectory: storage, config: place.config { $0.transport = NoTransport() })
            let client = service.makeClient(collectionName: collection.name)
            await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
            let offline = service.inspect()
            #expect(offline.lastAttempt == nil && offline.collections.map(\.status.source) == [.noSnapshot])
            #expect(try Self.decoded(offline).collections == offline.collections)
            await #expect(throws: RemoteSettingsError.self) { try await service.inspectWithServer() }
        }
        let service = place.service()
        let client = service.makeClient(collectionName: collection.name)
        try await client.sync()
        let open = service.inspect()
        service.shutdown()
        let closed = service.inspect()
        #expect(closed.collections.map(\.lastSuccess) == open.collections.map(\.lastSuccess))
        #expect(closed.collections.map(\.status.timestamp) == open.collections.map(\.status.timestamp))
        #expect(try Self.decoded(client.status).timestamp == client.status.timestamp)
        let error = await #expect(throws: RemoteSettingsError.self) { try await service.inspectWithServer() }
        #expect(error == .closed)
    }
}
