import Foundation
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing
@testable import RemoteSettings

@Suite struct SharedWorkTests {
    let place: Workplace

    init() throws { place = try Workplace() }

    /// A synced client whose downloads are held until the gate opens.
    private func heldClient() async throws -> (RemoteSettingsClient, RemoteSettingsRecord, GatedTransport) {
        let (collection, _) = try await place.synced(attaching: ["a": "hello"])
        let gate = GatedTransport(place.server, holding: "/attachments/")
        let client = place.client(collection) { $0.transport = gate }
        return (client, try #require(client.records?.first), gate)
    }

    @Test func concurrentCallersShareOneDownload() async throws {
        let (client, record, gate) = try await heldClient()
        let log = Collector<AttachmentProgress>()
        let first = Task { try await client.attachmentFile(for: record) { log.add($0) } }
        await gate.hasHeld()
        let contents = (0..<5).map { _ in Task { try await client.getAttachment(record: record) } }
        let files = (0..<5).map { _ in Task { try await client.attachmentFile(for: record) { log.add($0) } } }
        for _ in 0..<1000 { await Task.yield() }
        gate.open()
        for task in contents { #expect(try await task.value == Data("hello".utf8)) }
        for task in [first] + files { #expect(try await FileManager.default.fileExists(atPath: task.value.url.path)) }
        #expect(gate.requests == 1)
        #expect(Set(log.all) == [AttachmentProgress(received: 5, total: 5)])
    }

    @Test func cancelledCallerReturnsAtOnce() async throws {
        let (client, record, gate) = try await heldClient()
        let first = Task { try await client.getAttachment(record: record) }
        await gate.hasHeld()
        let second = Task { try await client.getAttachment(record: record) }
        first.cancel()
        await #expect(throws: RemoteSettingsError.self) { try await first.value }
        gate.open()
        #expect(try await second.value == Data("hello".utf8))
    }

    @Test func downloadWithoutWaitingCallersIsCancelled() async throws {
        let (client, record, gate) = try await heldClient()
        let tasks = (0..<3).map { _ in Task { try await client.getAttachment(record: record) } }
        await gate.hasHeld()
        for task in tasks { task.cancel() }
        for task in tasks { await #expect(throws: RemoteSettingsError.self) { try await task.value } }
        // A later caller does not wait for the cancelled download.
        let next = Task { try await client.getAttachment(record: record) }
        gate.open()
        #expect(try await next.value == Data("hello".utf8))
    }

    /// A client that is shut down while waiting for another client's sync does not start a sync itself.
    @Test func shutDownClientStartsNoSync() async throws {
        let collection = try place.collection("a")
        let gate = GatedTransport(place.server, holding: "/collections/\(collection.name)/")
        let service = place.service { $0.transport = gate }
        let clients = (0..<2).map { _ in service.makeClient(collectionName: collection.name) }
        let first = Task { try await clients[0].sync() }
        await gate.hasHeld()
        let second = Task { try await clients[1].sync(expecting: Timestamp(milliseconds: 9_000_000_000_000)) }
        for _ in 0..<1000 { await Task.yield() }
        clients[1].shutdown()
        await #expect(throws: RemoteSettingsError.self) { try await second.value }
        gate.open()
        _ = try await first.value
    }

    /// The client was shut down after its call began but before it could wait.
    @Test func sharedWorkRefusesShutDownOwner() async throws {
        let work = SharedWork<Int, Int, Never>()
        let (end, continuation) = AsyncStream<Void>.makeStream()
        let first = Task {
            await work.run(1) { _ in
                for await _ in end {}
                return .success(1)
            }
        }
        while !work.isUnderWay(1) { try? await Task.sleep(for: .milliseconds(1)) }
        let owner = WorkOwner()
        owner.shutdown()
        work.leave(owner)
        for key in [1, 2] {
            let outcome = await work.run(key, owner: owner) { _ in .success(2) }
            #expect(throws: RemoteSettingsError.closed) { try outcome.get() }
        }
        #expect(!work.isUnderWay(2))
        continuation.finish()
        #expect(try await first.value.get() == 1)
    }

    /// Work that must outlive one of its callers continues when the last waiting caller is cancelled.
    @Test func sharedWorkOutlivesCancelledCallers() async throws {
        for outlives in [true, false] {
            let work = SharedWork<Int, Bool, Never>()
            let (end, continuation) = AsyncStream<Void>.makeStream()
            let ended = Mutex<Bool?>(nil)
            let body:
                @Sendable (@escaping SharedWork<Int, Bool, Never>.Report) async -> Result<
                    Bool, RemoteSettingsError
                > = { _ in
                    for await _ in end {}
                    ended.withLock { $0 = Task.isCancelled }
                    return .success(true)
                }
            let first = Task { await work.run(1, outlivesCaller: outlives, body) }
            while !work.isUnderWay(1) { try? await Task.sleep(for: .milliseconds(1)) }
            let second = Task { await work.run(1, outlivesCaller: false, body) }
            for _ in 0..<1000 { await Task.yield() }
            first.cancel()
            _ = await first.value
            #expect(work.isUnderWay(1))
            second.cancel()
            _ = await second.value
            #expect(work.isUnderWay(1) == outlives)
            continuation.finish()
            while ended.withLock({ $0 }) == nil { try? await Task.sleep(for: .milliseconds(1)) }
            #expect(ended.withLock { $0 } == !outlives)
        }
    }

    /// Callers of interrupted syncs get `closed`, because they were not cancelled themselves.
    @Test(arguments: [true, false]) func syncsUnderWayEndAsClosed(byShutdown: Bool) async throws {
        let collection = try place.collection("a")
        let gate = GatedTransport(place.server, holding: "/collections/\(collection.name)/")
        let service = place.service { $0.transport = gate }
        let client = service.makeClient(collectionName: collection.name)
        let one = Task { try await client.sync() }
        await gate.hasHeld()
        let asked = place.server.requests.count
        let all = Task { try await service.sync() }
        // The sync has requested the list of collections, so it has begun.
        let end = ContinuousClock.now + .seconds(60)
        while place.server.requests.count == asked, .now < end { try? await Task.sleep(for: .milliseconds(1)) }
        if byShutdown { service.shutdown() } else { try service.updateConfig(config: place.config()) }
        await #expect(throws: RemoteSettingsError.closed) { try await one.value }
        await #expect(throws: RemoteSettingsError.closed) { try await all.value }
        gate.open()
    }

    /// Shutting down other clients does not end this client's stream, even if a memory address is reused.
    @Test func changesStreamSurvivesShutdownOfOtherClients() async throws {
        let collection = try place.collection("a")
        let service = place.service()
        let client = service.makeClient(collectionName: collection.name)
        let changes = client.changes()
        for _ in 0..<1000 { service.makeClient(collectionName: collection.name).shutdown() }
        try await client.sync()
        var reader = changes.makeAsyncIterator()
        #expect(await reader.next()?.created.map(\.id) == ["a"])
    }

    @Test func streamsEndAfterTheLastReference() async throws {
        let collection = try place.collection()
        var service: RemoteSettingsService? = place.service()
        var client: RemoteSettingsClient? = service?.makeClient(collectionName: collection.name)
        let changes = try #require(client?.changes())
        let updates = try #require(client?.recordUpdates())
        let readers = [Task { for await _ in changes {} }, Task { for await _ in updates {} }]
        for _ in 0..<1000 { await Task.yield() }
        (client, service) = (nil, nil)
        for reader in readers { await reader.value }
    }
}
