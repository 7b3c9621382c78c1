import Foundation
import RemoteSettingsTesting
import SnapshotBundle
import Testing

/// Several processes that share a storage directory; each service represents a process.
@Suite struct SharedStorageTests {
    let place: Workplace

    init() throws { place = try Workplace() }

    private func reader(_ collection: ServerCollection, packaged: [PackagedSource] = []) -> RemoteSettingsClient {
        place.client(collection) {
            $0.transport = NoTransport()
            $0.packaged = packaged
        }
    }

    /// iOS kills an app that is suspended while holding a lock in a container shared with an extension. Suspension is
    /// likely while waiting for a server, so nothing is locked then.
    @Test(arguments: ["monitor", "/changeset", "/attachments/"])
    func noStorageLockWhileWaitingForServer(_ held: String) async throws {
        let (collection, _) = try await place.synced(attaching: ["a": "hello"])
        try collection.put("b")
        let gate = GatedTransport(place.server, holding: held)
        let service = place.service { $0.transport = gate }
        let client = service.makeClient(collectionName: collection.name)
        let work = Task {
            try await service.sync()
            let record = try #require(client.recordsByID?["a"])
            return try await client.getAttachment(record: record)
        }
        await gate.hasHeld()
        #expect(try DirectoryLock(place.storage) != nil)
        gate.open()
        #expect(try await work.value == Data("hello".utf8))
    }

    /// While roots change, apps with different roots can use the same package and each other's synced states.
    @Test func appsWithDifferentRootsShareStoredState() async throws {
        let collection = try place.collection()
        collection.sign([SignatureForm(.current), SignatureForm(.ofOtherRoot)])
        try collection.put("a")
        let dumps = try await place.package([collection])
        let roots = [place.server.root, place.server.otherRoot]
        func client(_ root: Int, isOffline: Bool, packaged: [PackagedSource] = []) -> RemoteSettingsClient {
            place.client(collection) {
                $0.trustRoots = roots[root]
                $0.packaged = packaged
                if isOffline { $0.transport = NoTransport() }
            }
        }
        for root in 0..<2 {
            let offline = client(root, isOffline: true, packaged: [.directory(dumps)])
            #expect(offline.records?.map(\.id) == ["a"] && offline.status.source != .cached)
        }
        for root in 0..<2 {
            try collection.put("b\(root)")
            try await client(root, isOffline: false).sync()
            for reader in 0..<2 {
                let offline = client(reader, isOffline: true)
                #expect(offline.records?.count == 2 + root && offline.status.source == .cached)
            }
        }
    }

    /// An index in the format of a later library version is kept unchanged, and this version can still sync.
    @Test func laterStorageIndexFormatIsKept() async throws {
        let (collection, _) = try await place.synced("a")
        let file = URL(fileURLWithPath: "\(place.storage)/index.json")
        let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
        let later = text.replacing(#""format":1"#, with: #""format":2,"new":[]"#, maxReplacements: 1)
        try place.files.write(later)
        #expect(reader(collection).records == nil)
        let client = place.client(collection)
        for id in ["b", "c"] {
            try collection.put(id)
            try await client.sync()
            #expect(client.records?.last?.id == id)
        }
        #expect(try Data(contentsOf: file) == Data(later.utf8))
    }

    @Test func stateSyncedByAnotherProcessIsServed() async throws {
        let collection = try place.collection(with: ["a": ["n": 1]])
        let dumps = try await place.package([collection])
        let reader = reader(collection, packaged: [.directory(dumps)])
        #expect(reader.records?.map(\.id) == ["a"])
        var changes = reader.changes().makeAsyncIterator()
        let writer = place.client(collection)
        try collection.put("a", ["n": 2])
        try collection.put("b")
        try await writer.sync()
        #expect(state(of: reader) == state(of: writer))
        #expect(reader.status.source == .cached)
        #expect(reader.getLastModifiedTimestamp() == writer.getLastModifiedTimestamp())
        let told = try #require(await changes.next())
        #expect(told.created.map(\.id) == ["b"])
        #expect(told.updated.map(\.new.id) == ["a"])
        #expect(told.current.count == 2)
        // The same from one cached state to the next.
        collection.delete("a")
        try await writer.sync()
        #expect(reader.records?.map(\.id) == ["b"])
        #expect(await changes.next()?.deleted.map(\.id) == ["a"])
        #expect(reader.records == reader.records)
    }

    /// If the stored state becomes older, damaged or missing, a running process keeps its newer state, and the next
    /// sync repairs the storage.
    @Test(arguments: ["older", "damaged", "gone"])
    func noRollbackToDamagedOrOlderStoredState(_ what: String) async throws {
        let (collection, client) = try await place.synced("a")
        let old = try Data(contentsOf: place.files.file(collection.id))
        try collection.put("b")
        try await client.sync()
        switch what {
        case "older": try place.files.replace(collection.id, by: old)
        case "damaged": try place.files.replace(collection.id, by: Data("{}".utf8))
        default: try FileManager.default.removeItem(atPath: place.storage)
        }
        for _ in 0..<2 {
            #expect(client.records?.map(\.id) == ["a", "b"])
            #expect(client.status.unused.count == (what == "gone" ? 0 : 1))
        }
        try collection.put("c")
        try await client.sync()
        #expect(try state(of: client) == collection.state())
        #expect(state(of: reader(collection)) == state(of: client))
    }

    /// Changing the configuration of the same server and roots does not allow a rollback either.
    @Test func noRollbackThroughConfigurationChange() async throws {
        let collection = try place.collection("a")
        let service = place.service()
        let client = service.makeClient(collectionName: collection.name)
        try await client.sync()
        let old = try Data(contentsOf: place.files.file(collection.id))
        try collection.put("b")
        try await client.sync()
        try place.files.replace(collection.id, by: old)
        try service.updateConfig(config: place.config { $0.appContext = RemoteSettingsContext(country: "AT") })
        #expect(client.records?.map(\.id) == ["a", "b"])
        try service.updateConfig(config: place.config())
        #expect(client.records?.map(\.id) == ["a", "b"])
        try await client.resetStorage()
        try place.files.replace(collection.id, by: old)
        try service.updateConfig(config: place.config())
        #expect(client.records?.map(\.id) == ["a"])
    }

    /// A reset reverts to the package, but only in the process that requests it.
    @Test func resetStorageGoesBackToPackage() async throws {
        let collection = try place.collection("a")
        let dumps = try await place.package([collection])
        try collection.put("b")
        let reader = reader(collection, packaged: [.directory(dumps)])
        let writer = place.client(collection) { $0.packaged = [.directory(dumps)] }
        try await writer.sync()
        #expect(reader.records?.count == 2)
        try await writer.resetStorage()
        #expect(writer.records?.count == 1)
        #expect(reader.records?.count == 2)
        try await reader.resetStorage()
        #expect(reader.records?.count == 1)
    }
}
