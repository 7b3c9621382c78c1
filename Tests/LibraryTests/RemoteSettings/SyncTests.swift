import Foundation
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing

/// After each sync, the client has exactly the server's state.
@Suite struct SyncTests {
    let place: Workplace

    init() throws { place = try Workplace() }

    @Test func firstSyncThenChangesAndDeletions() async throws {
        let collection = try place.collection()
        for id in ["a", "b", "c"] { try collection.put(id, ["n": 1]) }
        let client = place.client(collection)
        #expect(client.records == nil)
        #expect(client.status.source == .noSnapshot)
        try await client.sync()
        #expect(try state(of: client) == collection.state())
        try collection.put("b", ["n": 2])
        try collection.put("d", ["n": 1])
        collection.delete("a")
        try await client.sync()
        #expect(client.records?.map(\.id) == ["b", "c", "d"])
        #expect(try state(of: client) == collection.state())
        #expect(try client.getLastModifiedTimestamp() == collection.timestamp().milliseconds)
        // A later process serves the same state offline.
        let later = place.client(collection) { $0.transport = NoTransport() }
        #expect(state(of: later) == state(of: client))
        #expect(later.status.source == .cached)
    }

    @Test func secondSyncAsksOnlyTheMonitor() async throws {
        let (collection, client) = try await place.synced("a")
        try await client.sync()
        let monitor = "/v1/buckets/monitor/collections/changes/changeset?_expected=0"
        let time = try collection.timestamp()
        let changeset = "/v1/buckets/main/collections/\(collection.name)/changeset?_expected=\(time)"
        let paths = place.server.requests.map(\.path).filter { !$0.contains("/chains/") }
        #expect(paths == [monitor, changeset, monitor])
    }

    @Test func emptiedThenRecreatedCollection() async throws {
        let (collection, client) = try await place.synced("a", "b")
        collection.deleteAll()
        try await client.sync()
        let asked = place.server.requests.count
        #expect(client.records == [])
        #expect(await client.recordsOrSync() == [] && place.server.requests.count == asked)
        #expect(try client.getLastModifiedTimestamp() == collection.timestamp().milliseconds)
        try collection.put("z")
        try await client.sync()
        #expect(client.records?.map(\.id) == ["z"])
        collection.deleteCollection()
        try collection.create()
        try collection.put("y")
        try await client.sync()
        #expect(try state(of: client) == collection.state())
    }

    @Test func deltaBeyondServerRetention() async throws {
        let collection = try place.collection("a", "b", "c")
        let dumps = try await place.package([collection])
        collection.delete("b")
        try collection.put("d")
        collection.forgetOlderStates()
        let client = place.client(collection) { $0.packaged = [.directory(dumps)] }
        #expect(client.records?.count == 3)
        let asked = place.server.requests.count
        try await client.sync()
        #expect(place.server.requests.dropFirst(asked).contains { $0.status == 307 })
        #expect(client.records?.map(\.id) == ["a", "c", "d"])
        #expect(try state(of: client) == collection.state())
    }

    @Test func signatureRefreshChangesNothing() async throws {
        let (collection, client) = try await place.synced("a")
        let before = client.status
        collection.signAgain()
        try await client.sync()
        #expect(client.status.timestamp == before.timestamp)
        #expect(try state(of: client) == collection.state())
    }

    /// Key rotation, invalid and expired signatures, an unknown signature mode, and a relative chain URL.
    @Test(arguments: [
        [SignatureForm(.current), SignatureForm(.next)], [SignatureForm(.next), SignatureForm(.current)],
        [SignatureForm(.next)], [SignatureForm(isTampered: true), SignatureForm(.next)],
        [SignatureForm(mode: "rot13"), SignatureForm(.next)], [SignatureForm(.expired), SignatureForm(.next)],
        [SignatureForm(isRelative: true)],
    ])
    func syncNeedsOneValidSignature(_ signatures: [SignatureForm]) async throws {
        let (collection, client) = try await place.synced("a")
        collection.sign(signatures)
        try collection.put("b")
        try await client.sync()
        #expect(client.records?.map(\.id) == ["a", "b"])
        // A later process verifies the state again, offline, from the storage directory.
        let later = place.client(collection) { $0.transport = NoTransport() }
        #expect(later.records?.map(\.id) == ["a", "b"])
    }

    /// Protocol version 2: an unknown `_since` is answered in full, and tombstones have no timestamp.
    @Test func syncWithProtocolVersion2() async throws {
        let collection = try place.collection("a", "b")
        let dumps = try await place.package([collection])
        let client = place.client(collection) {
            $0.server = .custom(url: place.server.url.dropLast(2) + "v2")
            $0.packaged = [.directory(dumps)]
        }
        // Data packaged from version 1 of the protocol counts as from the same server.
        #expect(client.records?.count == 2)
        collection.delete("a")
        try collection.put("c")
        let asked = place.server.requests.count
        try await client.sync()
        #expect(place.server.requests.dropFirst(asked).contains { $0.path.hasPrefix("/v2/") })
        #expect(client.records?.map(\.id) == ["b", "c"])
        collection.delete("b")
        collection.forgetOlderStates()
        try await client.sync()
        #expect(client.records?.map(\.id) == ["c"])
    }

    /// If the server deletes a collection, its sync fails and the client keeps its records.
    @Test func collectionDeletedOnTheServer() async throws {
        let collection = try place.collection("a")
        let service = place.service()
        let client = service.makeClient(collectionName: collection.name)
        try await client.sync()
        collection.deleteCollection()
        #expect(await refusal(of: client).contains(collection.name))
        #expect(client.records?.map(\.id) == ["a"])
        #expect(try await service.syncCollections().map(\.isSynced) == [false])
    }

    @Test func syncTransfersOnlyTheDelta() async throws {
        let collection = try place.collection()
        for number in 0..<50 { try collection.put("r\(number)", ["text": String(repeating: "x", count: 200)]) }
        let dumps = try await place.package([collection])
        try collection.put("r7", ["text": "changed"])
        let client = place.client(collection) { $0.packaged = [.directory(dumps)] }
        let asked = place.server.requests.count
        try await client.sync()
        let requests = place.server.requests.dropFirst(asked)
        // One request each for the monitor, the changeset and the chain.
        #expect(requests.count == 3)
        let changeset = try #require(requests.first { $0.path.contains(collection.name) })
        #expect(changeset.path.contains("_since="))
        #expect(changeset.bytes < 2500)
        #expect(try state(of: client) == collection.state())
    }

    @Test func oneFailingCollectionDoesNotStopTheOthers() async throws {
        let good = try place.collection("a")
        let bad = try place.collection("a")
        let service = place.service()
        let goodClient = service.makeClient(collectionName: good.name)
        let badClient = service.makeClient(collectionName: bad.name)
        place.server.inject([Fault("/\(bad.name)/changeset", effect: .body("{}"))])
        let asked = place.server.requests.count
        let results = try await service.syncCollections()
        place.server.inject([])
        #expect(results.filter(\.isSynced).map(\.collection) == [good.id])
        #expect(place.server.requests.dropFirst(asked).filter { $0.path.contains("monitor") }.count == 1)
        #expect(goodClient.records?.count == 1)
        #expect(badClient.records == nil)
        // The other collection is up to date already.
        #expect(try await service.sync() == [bad.name])
        withExtendedLifetime([goodClient, badClient]) {}
    }

    @Test func concurrentCallsShareOneSync() async throws {
        let collection = try place.collection("a")
        let client = place.client(collection)
        place.server.inject([Fault("/\(collection.name)/changeset", delay: .milliseconds(300))])
        let asked = place.server.requests.count
        let counts = await withTaskGroup(of: Int?.self) { group in
            for _ in 0..<20 { group.addTask { await client.recordsOrSync()?.count } }
            return await group.reduce(into: [Int?]()) { $0.append($1) }
        }
        place.server.inject([])
        #expect(counts == Array(repeating: 1, count: 20))
        #expect(place.server.requests.dropFirst(asked).filter { $0.path.contains(collection.name) }.count == 1)
    }

    @Test func expectedTimestampIsSentToMonitor() async throws {
        let collection = try place.collection("a")
        let timestamp = try collection.timestamp()
        #expect(try await place.client(collection).sync(expecting: timestamp) == .updated(timestamp))
        #expect(place.server.polls == ["?_expected=\(timestamp)"])
    }

    @Test func backoffSurvivesARestart() async throws {
        let collection = try place.collection("a")
        place.server.inject([Fault("changeset", effect: .status(503), headers: ["Retry-After": "3600"], times: 1)])
        let client = place.client(collection)
        await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
        place.server.inject([])
        let restarted = place.client(collection)
        let asked = place.server.requests.count
        let error = await #expect(throws: RemoteSettingsError.self) { try await restarted.sync() }
        guard case .backoff(let pause)? = error else { return #expect(Bool(false), "\(String(describing: error))") }
        #expect((.seconds(3500) ... .seconds(3600)).contains(pause))
        #expect(place.server.requests.dropFirst(asked).isEmpty)
    }

    /// If a stream is not read for a while, its changes are merged into one, from the last state read to the current
    /// one. Each separate change would keep two whole states in memory.
    @Test func changesThatAreNotReadAreMerged() async throws {
        let collection = try place.collection()
        let service = place.service()
        let client = service.makeClient(collectionName: collection.name)
        try collection.put("gone")
        try collection.put("kept", ["n": 1])
        try await client.sync()
        var changes = client.changes().makeAsyncIterator()
        try collection.put("a", ["n": 1])
        try collection.put("kept", ["n": 2])
        // The filter excludes this app, so the record is not reported.
        try collection.put("x", ["filter_expression": "env.channel == 'nightly'"])
        try await client.sync()
        try collection.put("a", ["n": 2])
        try collection.put("b")
        try collection.put("kept", ["n": 3])
        try await client.sync()
        collection.delete("b")
        collection.delete("gone")
        try await client.sync()
        let told = try #require(await changes.next())
        #expect(told.current == client.records)
        #expect(told.created == told.current.filter { $0.id == "a" })
        #expect(told.updated.map(\.new) == told.current.filter { $0.id == "kept" })
        #expect(told.updated.first.map { "\($0.old.fields)" }?.contains("1") == true)
        #expect(told.deleted.map(\.id) == ["gone"])
        // A record created and deleted between reads is not reported. Pending changes arrive before the stream ends.
        try collection.put("c")
        try await client.sync()
        collection.delete("c")
        try await client.sync()
        collection.delete("a")
        try await client.sync()
        service.shutdown()
        #expect(await changes.next()?.deleted.map(\.id) == ["a"])
        #expect(await changes.next() == nil)
    }
}
