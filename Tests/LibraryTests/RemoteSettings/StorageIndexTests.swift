import Foundation
import RemoteSettingsHTTP
import RemoteSettingsModel
import RemoteSettingsTesting
import SnapshotBundle
import Testing

/// The storage index and its files when files are purged, the disk is unwritable or other processes use them.
@Suite struct StorageIndexTests {
    let place: Workplace

    init() throws { place = try Workplace() }

    private func number(_ client: RemoteSettingsClient) -> Int64? {
        client.recordsByID?["r"]?[field: "n"]?.number?.int64
    }

    /// Whichever files the system purges, a reader serves a published state no older than the packaged one. The next
    /// due sync restores everything, in a running process and in a newly started one.
    @Test func purgedFilesAreHealedByNextSync() async throws {
        let collections = [try place.collection(), try place.collection()]
        func publish(_ number: Int) throws {
            for collection in collections { try collection.put("r", ["n": number]) }
        }
        func start(isOffline: Bool = false) -> (RemoteSettingsService, [RemoteSettingsClient]) {
            let service = place.service {
                $0.packaged = [packaged]
                if isOffline { $0.transport = NoTransport() }
            }
            return (service, collections.map { service.makeClient(collectionName: $0.name) })
        }
        try publish(1)
        let packaged = try place.server.packaged(collections[0])
        let first = start()
        _ = try await first.0.syncIfDue(every: .seconds(86_400))
        try publish(2)
        let runner = start()
        try await runner.0.sync()
        #expect(runner.1.map(number) == [2, 2])
        try await forEachPurge(of: place.storage) { purged in
            let reader = start(isOffline: true).1.map(number)
            #expect([1, 2].contains(reader[0]) && [nil, 2].contains(reader[1]), "\(purged): \(reader)")
            #expect(runner.1.map(number) == [2, 2], "\(purged)")
            if purged.count.isMultiple(of: 2) {
                try await runner.0.sync()
            } else {
                let starting = start()
                _ = try await starting.0.syncIfDue(every: .seconds(86_400))
                #expect(starting.1.map(number) == [2, 2], "\(purged)")
            }
            #expect(start(isOffline: true).1.map(number) == [2, 2], "\(purged)")
        }
    }

    /// If the storage cannot be written, fetched data is served from memory and stored once writing works again.
    @Test func unwritableStorageServesFromMemory() async throws {
        let collection = try place.collection(with: ["r": ["n": 1]])
        try Data().write(to: URL(fileURLWithPath: place.storage))
        let entries = Mutex<[RemoteSettingsLogEntry]>([])
        let service = place.service { $0.log = { entry in entries.withLock { $0.append(entry) } } }
        let client = service.makeClient(collectionName: collection.name)
        #expect(await client.recordsOrSync()?.count == 1)
        try collection.put("r", ["n": 2])
        guard case .failure(.storage(let reason))? = try await service.syncCollections().first?.result else {
            return #expect(Bool(false), "the sync should fail with a storage error")
        }
        #expect(reason.contains(place.storage) && number(client) == 2)
        #expect(try await service.syncCollections().first?.isSynced == true)
        #expect(try await service.syncIfDue(every: .seconds(86_400)) != nil)
        #expect(try await service.syncIfDue(every: .seconds(86_400)) == nil)
        #expect(entries.withLock { $0.count { $0.message.contains("keeping data in memory") } } == 1)
        try FileManager.default.removeItem(atPath: place.storage)
        try await client.sync()
        #expect(number(place.client(collection) { $0.transport = NoTransport() }) == 2)
    }

    /// A widget that shares its app's storage writes nothing, needs no lock, and sees what the app syncs.
    @Test func readOnlyStorageAccessSeesSyncs() async throws {
        let collection = try place.collection(attaching: ["r": "hello"])
        func widget(_ change: (inout RemoteSettingsConfig) -> Void = { _ in }) -> RemoteSettingsClient {
            place.client(collection) {
                $0.storageAccess = .readOnly
                change(&$0)
            }
        }
        let early = widget()
        #expect(early.records == nil)
        try await early.sync()
        #expect(early.records?.count == 1 && !FileManager.default.fileExists(atPath: place.storage))
        let app = place.client(collection)
        try await app.sync()
        let reader = widget { $0.transport = NoTransport() }
        #expect(reader.records?.count == 1)
        try collection.put("b")
        try await app.sync()
        #expect(reader.records?.count == 2 && early.records?.count == 2)
        let before = try FileManager.default.subpathsOfDirectory(atPath: place.storage).sorted()
        let lock = try #require(try DirectoryLock(place.storage))
        try collection.put("c")
        let later = widget { $0.usesSafeStart = true }
        #expect(later.records?.count == 2)
        try await later.sync()
        #expect(later.records?.count == 3)
        withExtendedLifetime(lock) {}
        let record = try #require(later.recordsByID?["r"])
        await #expect(throws: RemoteSettingsError.self) { try await later.getAttachment(record: record) }
        await #expect(throws: RemoteSettingsError.self) { try await later.resetStorage() }
        #expect(try FileManager.default.subpathsOfDirectory(atPath: place.storage).sorted() == before)
    }

    @Test func moveStorageKeepsState() async throws {
        let (collection, _) = try await place.synced(with: ["r": ["n": 1]])
        let group = place.path("group/app/storage")
        #expect(try RemoteSettingsService.moveStorage(from: place.storage, to: group))
        #expect(!FileManager.default.fileExists(atPath: place.storage))
        let client = RemoteSettingsService(
            storageDirectory: group, config: place.config { $0.transport = NoTransport() }
        ).makeClient(collectionName: collection.name)
        #expect(number(client) == 1)
        // Apps repeat this call at each start. It does nothing if there is no old storage or the new one exists.
        #expect(try !RemoteSettingsService.moveStorage(from: place.storage, to: group))
        try await place.client(collection).sync()
        #expect(try !RemoteSettingsService.moveStorage(from: place.storage, to: group))
        let lock = try #require(try DirectoryLock(place.storage))
        #expect(throws: RemoteSettingsError.self) {
            try RemoteSettingsService.moveStorage(from: place.storage, to: place.path("other"))
        }
        withExtendedLifetime(lock) {}
    }
}
