import Foundation
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing
@testable import RemoteSettings

/// Queries with filters, an order, a sync before reading, and fallbacks.
@Suite struct RecordQueryTests {
    let place: Workplace

    init() throws { place = try Workplace() }

    private func records() -> [RemoteSettingsRecord] {
        [
            ("a", #"{"n": 2, "os": "ios", "tags": {"x": 1, "y": true}}"#), ("b", #"{"n": 10, "os": "android"}"#),
            ("c", #"{"n": 2.0, "os": "ios", "tags": {"x": 2}}"#), ("d", #"{"n": null, "os": "Zeta"}"#),
            ("e", #"{"os": "é"}"#), ("f", #"{"n": "2", "os": false}"#), ("g", #"{"n": 9007199254740993}"#),
        ].map { RemoteSettingsRecord(id: $0, lastModified: 1, fields: $1) }
    }

    typealias Query = RemoteSettingsClient.Query

    private static func number(_ number: Int) -> JSONValue { .number(JSONNumber(number)) }

    @Test(arguments: [
        (Query(), "abcdefg"), (Query(where: ["os": .string("ios")]), "ac"), (Query(where: ["n": number(2)]), "ac"),
        (Query(where: ["n": .string("2")]), "f"), (Query(where: ["n": .null]), "d"),
        (Query(where: ["none": .null]), ""), (Query(where: ["os": .array([])]), ""),
        (Query(where: ["os": .array([.string("ios"), .bool(false)])]), "acf"),
        (Query(where: ["os": .string("ios"), "n": number(10)]), ""),
        (Query(where: ["tags": .object([.init(key: "x", value: number(1))])]), "a"),
        (Query(where: ["tags": .object([])]), "ac"), (Query(where: ["id": .string("e")]), "e"),
        (Query(where: ["n": number(9_007_199_254_740_992)]), ""),
        // Order: missing, null, numbers, strings; equal values by id.
        (Query(order: .ascending("n")), "edacbgf"), (Query(order: .descending("n")), "fgbacde"),
        (Query(order: .ascending("os")), "gfdbace"),
        (Query(where: ["os": .string("ios")], order: .descending("id")), "ca"),
    ])
    func queryFiltersAndOrdersRecords(_ query: Query, _ ids: String) {
        #expect(query.selection(of: records()).map(\.id).joined() == ids)
    }

    /// Swift treats the two spellings of é as equal strings.
    @Test func queryDistinguishesUnicodeSpellings() {
        let (one, two) = ("caf\u{E9}", "cafe\u{301}")
        let records = [one, two].enumerated().map { index, text in
            RemoteSettingsRecord(id: "\(index)", lastModified: 1, fields: "{\"name\": \"\(text)\", \"\(text)\": 1}")
        }
        for (id, text) in [("0", one), ("1", two)] {
            #expect(Query(where: ["name": .string(text)]).selection(of: records).map(\.id) == [id])
            #expect(Query(where: ["name": [.string(text)]]).selection(of: records).map(\.id) == [id])
            #expect(Query(where: [text: 1]).selection(of: records).map(\.id) == [id])
        }
    }

    @Test func localQueriesMakeNoRequest() async throws {
        let collection = try place.collection(with: ["a": ["n": 1], "b": ["n": 2]])
        let client = place.client(collection)
        #expect(client.records(matching: .init(sync: .always)) == nil)
        #expect(place.server.requests.isEmpty)
        await #expect(throws: RemoteSettingsError.self) { try await client.fetchRecords(.init()) }
        #expect(try await client.fetchRecords(.init(fallback: .emptyList)) == [])
        #expect(place.server.requests.isEmpty)
        let query = Query(order: .descending("n"), sync: .ifEmpty)
        #expect(try await client.fetchRecords(query).map(\.id) == ["b", "a"])
        let asked = place.server.requests.count
        #expect(try await client.fetchRecords(query).count == 2)
        #expect(client.records(matching: .init(where: ["n": Self.number(1)]))?.map(\.id) == ["a"])
        #expect(place.server.requests.count == asked)
    }

    @Test func forcedSyncPrecedesQuery() async throws {
        let collection = try place.collection("a")
        let received = Received()
        let service = place.service { $0.limits.all.tries = 1 }
        service.telemetry = received
        let client = service.makeClient(collectionName: collection.name)
        try await client.sync()
        try collection.put("b")
        #expect(client.records?.count == 1)
        _ = received.take()
        #expect(try await client.fetchRecords(.init(sync: .always)).map(\.id) == ["a", "b"])
        #expect(received.take().map(\.trigger) == [.forced, .forced])
        // If the sync fails, the stored records are returned, unless the caller requests an error.
        try collection.put("c")
        place.server.inject([Fault("monitor", effect: .status(500))])
        #expect(try await client.fetchRecords(.init(sync: .always)).count == 2)
        await #expect(throws: RemoteSettingsError.self) {
            try await client.fetchRecords(.init(sync: .always, fallback: .error))
        }
        let empty = service.makeClient(collectionName: try place.collection().name)
        await #expect(throws: RemoteSettingsError.self) { try await empty.fetchRecords(.init(sync: .ifEmpty)) }
        #expect(try await empty.fetchRecords(.init(sync: .always, fallback: .emptyList)) == [])
    }

    @Test func packagedRecordsCanBeLeftOut() async throws {
        let (collection, _) = try await place.synced("a")
        try collection.put("b")
        let dumps = try await place.package([collection])
        let client = place.client(collection) { $0.packaged = [.directory(dumps)] }
        let stored = Query(usesPackaged: false)
        #expect(client.records?.count == 2)
        #expect(client.records(matching: .init())?.count == 2)
        // Only the older state, stored by a sync, is returned.
        #expect(client.records(matching: stored)?.map(\.id) == ["a"])
        #expect(try await client.fetchRecords(stored).map(\.id) == ["a"])
        // A sync confirms that the package has the server's current state.
        #expect(try await client.fetchRecords(.init(sync: .always, usesPackaged: false)).count == 2)
        #expect(client.status.source == .packaged(dumps))
        // Without this confirmation, the package is not used.
        try await client.resetStorage()
        #expect(client.records(matching: stored) == nil)
        place.server.inject([Fault("monitor", effect: .status(404))])
        let query = Query(sync: .always, usesPackaged: false)
        await #expect(throws: RemoteSettingsError.self) { try await client.fetchRecords(query) }
        #expect(try await client.fetchRecords(.init(sync: .always)).count == 2)
    }
}
