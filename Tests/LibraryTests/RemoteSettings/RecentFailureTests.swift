import RemoteSettingsHTTP
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing

/// Reads that sync when there are no records do not repeat a sync that failed recently.
@Suite struct RecentFailureTests {
    let place: Workplace
    let time = SteppedTime(chance: 0)

    init() throws { place = try Workplace() }

    /// A service that does not pause before it retries a request.
    private func service(_ transport: (any HTTPTransport)? = nil) -> RemoteSettingsService {
        place.service { config in
            config.environment = time.environment
            config.environment.sleep = { _ in }
            if let transport { config.transport = transport }
        }
    }

    private func move(_ duration: Duration) async { await time.pass(duration) }

    private var asked: Int { place.server.requests.count }

    @Test func recentFailureIsSharedByReads() async throws {
        let first = try place.collection("a")
        let second = try place.collection("a")
        place.server.inject([Fault("monitor", effect: .status(503))])
        let service = service()
        let client = service.makeClient(collectionName: first.name)
        let other = service.makeClient(collectionName: second.name)
        #expect(client.status.recentFailure == nil)
        #expect(await client.recordsOrSync() == nil)
        let tries = asked
        #expect(tries > 1, "a request is repeated before it fails")
        // No further requests by this client, by that of another collection, or by a query, which throws the error.
        #expect(await client.recordsOrSync() == nil)
        #expect(await other.recordsOrSync() == nil)
        let error = await #expect(throws: RemoteSettingsError.self) {
            try await other.fetchRecords(.init(sync: .ifEmpty, fallback: .error))
        }
        #expect(asked == tries)
        let failure = try #require(client.status.recentFailure)
        #expect(failure.nextTry == time.now.advanced(by: .seconds(5)))
        #expect(failure.error == error && other.status.recentFailure == failure)
        #expect(service.inspect().description.contains("reads will not sync before \(failure.nextTry.rfc3339)"))
        // After the pause, reads sync again.
        place.server.inject([])
        await move(.seconds(5))
        #expect(client.status.recentFailure == nil)
        #expect(await client.recordsOrSync()?.count == 1)
        #expect(await other.recordsOrSync()?.count == 1)
    }

    @Test func recentFailureIsPerCollection() async throws {
        let good = try place.collection("a")
        let bad = try place.collection("a")
        bad.sign([SignatureForm(.ofOtherRoot)])
        let service = service()
        let client = service.makeClient(collectionName: bad.name)
        #expect(await client.recordsOrSync() == nil)
        let tries = asked
        #expect(await client.recordsOrSync() == nil)
        #expect(asked == tries && client.status.recentFailure != nil)
        #expect(await service.makeClient(collectionName: good.name).recordsOrSync()?.count == 1)
        // The success of another collection does not clear this failure.
        #expect(client.status.recentFailure != nil)
        bad.sign([SignatureForm()])
        try await client.sync()
        #expect(client.status.recentFailure == nil && client.records?.count == 1)
    }

    @Test func recentFailurePauseGrowsToAMinute() async throws {
        let collection = try place.collection()
        place.server.inject([Fault("monitor", effect: .status(503))])
        let client = service().makeClient(collectionName: collection.name)
        for seconds in [5, 10, 20, 40, 60, 60, 60] as [Int64] {
            #expect(await client.recordsOrSync() == nil)
            let tries = asked
            await move(.seconds(seconds) - .milliseconds(1))
            #expect(await client.recordsOrSync() == nil)
            #expect(asked == tries, "within \(seconds) s")
            await move(.milliseconds(1))
            #expect(client.status.recentFailure == nil)
        }
    }

    /// An explicit sync ignores a recent failure, and a network change ends the pause.
    @Test func explicitSyncIgnoresRecentFailure() async throws {
        let collection = try place.collection("a")
        let service = service()
        let client = service.makeClient(collectionName: collection.name)
        place.server.inject([Fault("monitor", effect: .status(503))])
        #expect(await client.recordsOrSync() == nil)
        for sync in [
            { _ = try await client.sync() }, { _ = try await client.sync(trigger: .timer) },
            { _ = try await service.sync() },
            { _ = try await client.fetchRecords(.init(sync: .always, fallback: .error)) },
        ] {
            let tries = asked
            await #expect(throws: RemoteSettingsError.self) { try await sync() }
            #expect(asked > tries)
        }
        // After five failures the pause is a minute, but a network change ends it at once.
        #expect(client.status.recentFailure?.nextTry == time.now.advanced(by: .seconds(60)))
        place.server.inject([])
        #expect(await client.recordsOrSync() == nil)
        service.networkChanged()
        #expect(client.status.recentFailure == nil)
        #expect(await client.recordsOrSync()?.count == 1)
    }

    /// After a device has slept or its clock was set, the pause is no longer than a minute.
    @Test(arguments: [Duration.seconds(3600), .seconds(-3600)])
    func recentFailureEndsAfterClockJump(_ difference: Duration) async throws {
        let collection = try place.collection("a")
        place.server.inject([Fault("monitor", effect: .status(503), times: 9)])
        let client = service().makeClient(collectionName: collection.name)
        #expect(await client.recordsOrSync() == nil)
        place.server.inject([])
        time.setClock(by: difference)
        #expect((client.status.recentFailure == nil) == (difference > .zero))
        await move(.seconds(5))
        #expect(client.status.recentFailure == nil)
    }

    /// A sync interrupted by the app is not a recent failure. Neither is a backoff, which has a separate error.
    @Test func cancelledSyncIsNoRecentFailure() async throws {
        let collection = try place.collection("a")
        let gate = GatedTransport(place.server, holding: "monitor")
        let service = place.service { $0.transport = gate }
        let client = service.makeClient(collectionName: collection.name)
        let read = Task { await client.recordsOrSync() }
        await gate.hasHeld()
        try service.updateConfig(config: place.config())
        #expect(await read.value == nil)
        #expect(client.status.recentFailure == nil)
        #expect(await client.recordsOrSync()?.count == 1)
    }

    /// A read joins a running sync, even if an earlier sync failed.
    @Test func readJoinsRunningSyncAfterFailure() async throws {
        let collection = try place.collection("a")
        let gate = GatedTransport(place.server, holding: "chains")
        let client = service(gate).makeClient(collectionName: collection.name)
        place.server.inject([Fault("\(collection.name)/changeset", effect: .status(404), times: 1)])
        #expect(await client.recordsOrSync() == nil)
        #expect(client.status.recentFailure != nil)
        let sync = Task { try await client.sync() }
        await gate.hasHeld()
        let read = Task { await client.recordsOrSync() }
        for _ in 0..<100 { await Task.yield() }
        gate.open()
        #expect(await read.value?.count == 1)
        _ = try await sync.value
    }
}
