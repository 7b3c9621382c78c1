import Dumps
import Foundation
import RemoteSettingsHTTP
import RemoteSettingsModel
import RemoteSettingsTesting
import SnapshotBundle
import Testing
@testable import RemoteSettings

/// Behavior that apps migrating from Mozilla's component rely on.
@Suite struct MovingOverTests {
    let place: Workplace

    init() throws { place = try Workplace() }

    @Test(
        arguments: [
            ("https://firefox.settings.services.mozilla.com/v1", .mozillaProduction),
            ("https://firefox.settings.services.mozilla.com", .mozillaProduction),
            ("https://FIREFOX.settings.services.mozilla.com:443/v2/", .mozillaProduction),
            ("https://firefox.settings.services.allizom.org/v1", .mozillaStaging),
            ("https://remote-settings-dev.allizom.org/v1", .mozillaStaging), ("https://settings.example.org/v1", nil),
            ("https://firefox.settings.services.mozilla.com.example.org/v1", nil),
        ] as [(String, TrustAnchors?)])
    func defaultRootOnlyForMozillaServers(_ url: String, root: TrustAnchors?) throws {
        let config = RemoteSettingsConfig(server: .custom(url: url))
        #expect(config.trustPolicy.roots == root ?? TrustAnchors([]))
        if root != nil { return try config.check() }
        #expect(throws: RemoteSettingsError.self) { try config.check() }
    }

    /// A configuration error is logged when the service is created, and thrown by each call that would use the network.
    @Test(arguments: [
        ("https://settings.example.org", "rsdump keys status"), ("settings.example.org", "settings.example.org"),
    ])
    func configurationMistakeIsLoggedAndThrown(_ url: String, says sentence: String) async throws {
        let logged = Mutex<[RemoteSettingsLogEntry]>([])
        var config = RemoteSettingsConfig(server: .custom(url: url))
        config.log = { entry in logged.withLock { $0.append(entry) } }
        let service = RemoteSettingsService(storageDirectory: place.storage, config: config)
        #expect(logged.withLock { $0 }.contains { $0.level == .error && $0.message.contains(sentence) })
        let client = service.makeClient(collectionName: "markets")
        let thrown = try #require(await #expect(throws: RemoteSettingsError.self) { try await client.sync() })
        #expect("\(thrown)".contains(sentence))
        #expect(throws: thrown) { try RemoteSettingsService(storageDirectory: place.storage, validating: config) }
        #expect(throws: thrown) { try place.service().updateConfig(config: config) }
    }

    @Test func syncWithoutClientsThrowsNoClient() async throws {
        let service = place.service()
        await #expect(throws: RemoteSettingsError.noClient) { try await service.sync() }
        #expect(try await service.syncCollections() == [])
    }

    /// Packages a collection's current state without its signature, as `rsdump import` does.
    private func packageImported(_ collection: ServerCollection) async throws -> PackagedSource {
        let text = Bytes(Array(try JSONSerialization.data(withJSONObject: collection.unsignedChangeset())))
        let claim = try Changeset(parsing: text).snapshot(of: CollectionID(collection.id), onto: nil)
        let transaction = try await DumpsTransaction.begin(in: DumpsDirectory(place.path("imported")))
        defer { try? transaction.end() }
        let snapshot = Snapshot(vouchingFor: claim, chain: nil, provenance: .imported)
        let offer = DumpsTransaction.Offer(snapshot: snapshot, attachments: [:], origin: "test")
        #expect(try transaction.take(offer, by: DumpsConfiguration()) == .created)
        try transaction.commit(DumpsConfiguration())
        return .directory(place.path("imported"), trusted: true).acceptingImported()
    }

    /// An import is unsigned, so its timestamp proves nothing: the server's state replaces it even if it is older.
    @Test func importedSnapshotIsReplacedByOlderServerState() async throws {
        let collection = try place.collection("a", "b")
        let imported = try await packageImported(collection)
        collection.load(
            ["a": #"{"id":"a","last_modified":1700000000000}"#], files: [],
            timestamp: Timestamp(milliseconds: 1_700_000_000_000))
        func start() -> RemoteSettingsClient { place.client(collection) { $0.packaged = [imported] } }
        let client = start()
        #expect(client.records?.map(\.id) == ["a", "b"] && client.status.provenance == .imported)
        #expect(try await client.sync() as SyncOutcome == .updated(Timestamp(milliseconds: 1_700_000_000_000)))
        #expect(client.records?.map(\.id) == ["a"] && start().records?.map(\.id) == ["a"])
        #expect(start().status.unused.map(\.reason) == [.signatureLost])
        let asked = place.server.requests.count
        #expect(try await start().sync() as SyncOutcome == .upToDate(Timestamp(milliseconds: 1_700_000_000_000)))
        #expect(place.server.requests.count == asked + 1)
    }

    /// In an app's tests, pauses between attempts are shortened, but time limits are not.
    @Test func timeLimitsInTestsAreNotShortened() async throws {
        let test = try TestService()
        try test.collection("markets").put((0..<2000).map { "r\($0)" }, ["name": "x"])
        let client = test.service.makeClient(collectionName: "markets")
        try await client.sync(timeout: .seconds(10))
    }

    @Test func packagedOnlyIgnoresStoredStateAndServer() async throws {
        let collection = try place.collection("a")
        let source = try place.server.packaged(collection)
        let packaged = try collection.timestamp()
        try collection.put("b")
        try await place.client(collection).sync()
        let service = place.service { ($0.packaged, $0.isPackagedOnly) = ([source], true) }
        let client = service.makeClient(collectionName: collection.name)
        let asked = place.server.requests.count
        #expect(try await client.sync() == .notAsked(packaged))
        #expect(try await service.syncCollections().map(\.isSynced) == [false])
        #expect(try await service.sync() == [])
        #expect(client.records?.map(\.id) == ["a"] && place.server.requests.count == asked)
        #expect(client.status.unused.map(\.reason) == [.packagedOnly])
        #expect(place.client(collection).records?.count == 2)
    }

    /// A request waiting for a retry fails with an explanation if the clock stands still; `run` advances the clock.
    @Test func steppedTimeRunsRetries() async throws {
        let time = SteppedTime(patience: .milliseconds(200))
        let test = try TestService(time: time)
        try test.collection("markets").put("de")
        let client = test.service.makeClient(collectionName: "markets")
        test.origin.inject([Fault("changes", effect: .status(503), times: 2)])
        let error = await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
        #expect(error?.description.contains("await the call in time.run") == true)
        try await time.run { try await client.sync() }
        #expect(client.records?.count == 1)
        try await time.run { try await time.sleep(until: time.now.advanced(by: .seconds(3600))) }
    }

    @Test func newContextAndTelemetryDoNotCancelSync() async throws {
        let collection = try place.collection(with: ["for-beta": ["filter_expression": "env.channel == 'beta'"]])
        let gate = GatedTransport(place.server, holding: "/collections/\(collection.name)/")
        let service = place.service { $0.transport = gate }
        let client = service.makeClient(collectionName: collection.name)
        let sync = Task { try await client.sync() }
        await gate.hasHeld()
        service.appContext = RemoteSettingsContext(channel: "beta")
        let log = Received()
        service.telemetry = log
        gate.open()
        _ = try await sync.value
        #expect(log.take().last?.status == .success)
        #expect(client.records?.map(\.id) == ["for-beta"])
        var changes = client.changes().makeAsyncIterator()
        service.appContext?.channel = "nightly"
        #expect(client.records == [])
        #expect(await changes.next()?.deleted.map(\.id) == ["for-beta"])
    }

    @Test func shutdownOfOneClientKeepsOthersSyncing() async throws {
        let collection = try place.collection("a")
        let gate = GatedTransport(place.server, holding: "/collections/\(collection.name)/")
        let service = place.service { $0.transport = gate }
        let one = service.makeClient(collectionName: collection.name)
        let other = service.makeClient(collectionName: collection.name)
        var (ended, kept) = (one.changes().makeAsyncIterator(), other.changes().makeAsyncIterator())
        let first = Task { try await one.sync() }
        await gate.hasHeld()
        let second = Task { try await other.sync() }
        for _ in 0..<1000 { await Task.yield() }
        one.shutdown()
        await #expect(throws: RemoteSettingsError.self) { try await first.value }
        #expect(await ended.next() == nil)
        gate.open()
        _ = try await second.value
        #expect(await kept.next()?.created.map(\.id) == ["a"])
        // The client can still read, but not sync.
        #expect(one.records?.count == 1)
        await #expect(throws: RemoteSettingsError.closed) { try await one.sync() }
        for await changes in one.changes() { Issue.record("\(changes)") }
        try await other.sync()
    }

    @Test func releasedOrShutDownClientsAreNotSynced() async throws {
        let collection = try place.collection("a")
        let service = place.service()
        do {
            let client = service.makeClient(collectionName: collection.name)
            #expect(try await service.syncCollections().map(\.collection) == [collection.id])
            withExtendedLifetime(client) {}
        }
        #expect(try await service.syncCollections() == [])
        let closed = service.makeClient(collectionName: collection.name)
        closed.shutdown()
        #expect(try await service.syncCollections() == [])
        #expect(closed.records?.count == 1)
    }

    @Test func updateConfigKeepsTelemetry() async throws {
        let (log, other) = (Received(), Received())
        let service = place.service()
        service.telemetry = log
        try service.updateConfig(config: place.config())
        try await service.syncCollections()
        #expect(log.take().last?.source == "settings-sync")
        try service.updateConfig(config: place.config { $0.telemetry = other })
        try await service.syncCollections()
        #expect(other.take().last?.source == "settings-sync" && log.take().isEmpty)
    }

    /// Changes the time at which the stored state was verified, according to its file.
    private func setVerifiedAt(_ collection: ServerCollection, _ change: (UInt64) -> UInt64) throws {
        let file = try place.files.file(collection.id)
        let content = try Data(contentsOf: file)
        let end = try #require(content.firstIndex(of: UInt8(ascii: "\n")))
        var line = try #require(try JSONSerialization.jsonObject(with: content[..<end]) as? [String: Any])
        line["verifiedAt"] = change(try #require(line["verifiedAt"] as? UInt64))
        try (JSONSerialization.data(withJSONObject: line) + content[end...]).write(to: file)
    }

    /// An attacker with an expired key and write access to the storage directory cannot forge a state newer than the
    /// certificate.
    @Test func storedStateNewerThanVerificationIsRefused() async throws {
        let (collection, _) = try await place.synced("a")
        try setVerifiedAt(collection) { $0 - 3_600_000 }
        #expect(place.client(collection).records?.count == 1)
        try setVerifiedAt(collection) { $0 - 90_000_000 }
        let client = place.client(collection)
        #expect(client.records == nil)
        guard case .notTrusted(let why)? = client.status.unused.first?.reason else {
            return #expect(Bool(false), "\(client.status)")
        }
        #expect(why.contains("more than a day after"))
        try await client.sync()
        #expect(client.records?.count == 1)
    }

    @Test func stateAheadOfTheClockIsRefused() async throws {
        let collection = try place.collection("a")
        let client = place.client(collection) {
            let now = $0.environment.now
            // The state is an hour old, so it is at least 25 hours ahead of this clock, even if the test is slow.
            $0.environment.now = { Timestamp(milliseconds: now().milliseconds - 97_200_000) }
        }
        #expect(await refusal(of: client).contains("clock"))
        #expect(client.records == nil)
    }
}

/// Types and settings used in an app's code and tests.
@Suite struct ValueTests {
    let place: Workplace

    init() throws { place = try Workplace() }

    @Test func recordInitializerNormalizesFields() {
        let file = RemoteSettingsAttachment(
            filename: "a.png", mimetype: "image/png", location: "x/a.png", hash: String(repeating: "a", count: 64),
            size: 7)
        let fields = #"{ "b": [1.50, "ä"], "a": null, "id": "other" }"#
        let record = RemoteSettingsRecord(id: "r", lastModified: 12, attachment: file, fields: fields)
        #expect(record.id == "r" && record.lastModified == 12 && !record.deleted)
        #expect(record.attachment == file)
        #expect(record.fields == #"{"a":null,"b":[1.5E0,"\u00e4"]}"#)
        #expect(record[field: "id"] == .string("r"))
        #expect(RemoteSettingsRecord(id: "r", lastModified: 1, deleted: true).deleted)
    }

    @Test func errorsDescribeThemselves() {
        let error: any Error = RemoteSettingsError.backoff(.seconds(30))
        #expect(error.localizedDescription == "the server asked clients to wait; try again in 30 s")
        #expect(RemoteSettingsError.other(reason: "why").localizedDescription == "why")
    }
    @Test(arguments: ["not-json", "", "[1]", "{\"a\":", "null", "{} {}"])
    func recordFieldsThatAreNoObjectAreKept(_ fields: String) {
        var record = RemoteSettingsRecord(id: "r", lastModified: 3, fields: fields)
        #expect(record.fields == fields && record.id == "r" && record.lastModified == 3)
        #expect(record[field: "a"] == nil && record != RemoteSettingsRecord(id: "r", lastModified: 3))
        record.fields = #"{"a":1}"#
        #expect(record == RemoteSettingsRecord(id: "r", lastModified: 3, fields: #"{"a":1}"#))
    }

    @Test func recordMembersCanBeSet() {
        var record = RemoteSettingsRecord(id: "r", lastModified: 1, fields: #"{"a":1}"#)
        let file = RemoteSettingsAttachment(
            filename: "a", mimetype: "b", location: "c", hash: String(repeating: "a", count: 64), size: 5)
        (record.id, record.lastModified, record.deleted, record.attachment) = ("s", 2, true, file)
        #expect(record.id == "s" && record.lastModified == 2 && record.deleted && record.attachment == file)
        record.attachment?.filename = "d"
        #expect(record.attachment?.filename == "d" && record.fields == #"{"a":1}"#)
        record.attachment = nil
        #expect(record.attachment == nil && record[field: "attachment"] == nil)
    }

    @Test func temporaryStorageIsRemovedWithService() async throws {
        let collection = try place.collection(attaching: ["a": "hello"])
        func storedFile() async throws -> URL {
            let service = RemoteSettingsService(config: place.config())
            let client = service.makeClient(collectionName: collection.name)
            let record = try #require(await client.recordsOrSync()?.first)
            defer { service.shutdown() }
            return try await client.attachmentFile(for: record).url
        }
        let file = try await storedFile()
        while FileManager.default.fileExists(atPath: file.path) { try await Task.sleep(for: .milliseconds(5)) }
    }

    /// Temporary storage keeps synced data and attachments, and is private to one service.
    @Test func temporaryStorageServesSyncsAndAttachments() async throws {
        let collection = try place.collection(attaching: ["a": "hello"])
        let service = RemoteSettingsService(config: place.config())
        let client = service.makeClient(collectionName: collection.name)
        let first = try #require(await client.recordsOrSync()?.first)
        #expect(client.status.source == .cached && client.localAttachment(for: first) == nil)
        #expect(try await client.getAttachment(record: first) == Data("hello".utf8))
        #expect(client.localAttachment(for: first)?.source == .cached && client.isAttachmentStored(for: first))
        let file = try await client.attachmentFile(for: first).url
        #expect(try Data(contentsOf: file) == Data("hello".utf8))
        // The storage is in a directory that only this user can access.
        let storage = (0..<4).reduce(file) { file, _ in file.deletingLastPathComponent() }
        let directory = storage.deletingLastPathComponent()
        let mode = try FileManager.default.attributesOfItem(atPath: directory.path)[.posixPermissions] as? Int
        #expect(mode == 0o700)
        // Another service does not share the storage.
        let other = RemoteSettingsService(config: place.config())
        #expect(other.makeClient(collectionName: collection.name).records == nil)
        try await service.resetStorage()
        #expect(client.records == nil)
        for path in [":memory:", place.storage] { #expect(!FileManager.default.fileExists(atPath: path)) }
    }

    @Test func logEntriesGoToTheConfiguredHandler() async throws {
        let entries = Mutex<[RemoteSettingsLogEntry]>([])
        let collection = try place.collection()
        let client = place.client(collection) {
            $0.transport = NoTransport()
            $0.log = { entry in entries.withLock { $0.append(entry) } }
        }
        await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
        let logged = entries.withLock { $0 }
        #expect(logged.contains { $0.level == .info && $0.message.contains("this test is offline") }, "\(logged)")
    }

    @Test(arguments: [("MyApp/2.1", "MyApp/2.1"), ("My App", "My-App/-"), ("a/b/c\r\n", "a/b-c--"), ("", "-/-")])
    func userAgentIsMadeValid(given: String, sent: String) {
        var config = RemoteSettingsConfig()
        config.userAgent = given
        #expect(config.userAgentField.description == sent)
    }

    @Test func configFromTrustedPackageHasServerAndRoots() async throws {
        let collection = try place.collection("a")
        let dumps = try await place.package([collection])
        let config = try RemoteSettingsConfig(from: .directory(dumps, trusted: true))
        #expect(config.trustRoots == place.server.root && config.signer == nil)
        let client = RemoteSettingsService(storageDirectory: place.storage, config: config)
            .makeClient(collectionName: collection.name)
        #expect(client.records?.map(\.id) == ["a"])
        let embedded = PackagedSource.embedded(
            lock: Bytes([UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(dumps)/dumps.lock.json")))), bundles: [:])
        #expect(try RemoteSettingsConfig(from: embedded).server == config.server)
        // An attacker who can write to the directory, but not change the program, must not choose the app's roots.
        #expect(throws: RemoteSettingsError.self) { try RemoteSettingsConfig(from: .directory(dumps)) }
        #expect(throws: RemoteSettingsError.self) {
            try RemoteSettingsConfig(from: .directory(place.path("nothing"), trusted: true))
        }
    }
}
