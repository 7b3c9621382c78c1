import Dumps
import Foundation
import RemoteSettingsModel
import RemoteSettingsTesting
import SnapshotBundle
import Testing

/// Packaged data is served without a network.
@Suite struct PackagedTests {
    let place: Workplace

    init() throws { place = try Workplace() }

    private func embedded(_ dumps: String, _ collections: [ServerCollection]) throws -> PackagedSource {
        func bytes(_ path: String) throws -> Bytes {
            Bytes(Array(try Data(contentsOf: URL(fileURLWithPath: "\(dumps)/\(path)"))))
        }
        var bundles: [String: Bytes] = [:]
        for collection in collections {
            bundles[collection.id] = try bytes("\(collection.bucket)/\(collection.name).zip")
        }
        return .embedded(lock: try bytes("dumps.lock.json"), bundles: bundles)
    }

    /// A service without a network and with an empty storage directory.
    private func offlineService(_ source: PackagedSource) throws -> RemoteSettingsService {
        let config = place.config {
            $0.packaged = [source]
            $0.transport = NoTransport()
            $0.limits.all.tries = 1
        }
        return try RemoteSettingsService(storageDirectory: place.path("nothing"), validating: config)
    }

    @Test func offlineWithAnEmptyStorageDirectory() async throws {
        let collections = [try place.collection(), try place.server.makeCollection("security-state")]
        for collection in collections {
            try collection.put("a", ["n": 1.5, "text": "äöü 🦊"])
            try collection.attach(Data("attached to \(collection.id)".utf8), to: "b")
        }
        let dumps = try await place.package(collections)
        for source in [
            .directory(dumps), .directory(dumps, trusted: true), try embedded(dumps, collections),
            .bundleResource(place.directory.path),
        ] as [PackagedSource] {
            let service = try offlineService(source)
            for collection in collections {
                let client = service.makeClient(collectionName: collection.id)
                #expect(try state(of: client) == collection.state())
                #expect(client.status.source == .packaged(source.name))
                let record = try #require(client.recordsByID?["b"])
                #expect(try await client.getAttachment(record: record) == Data("attached to \(collection.id)".utf8))
                #expect(try await client.attachment(for: record).source == .packaged(source.name))
            }
            let absent = service.makeClient(collectionName: "absent")
            #expect(absent.records == nil)
            #expect(await absent.recordsOrSync() == nil)
        }
        // Reading writes nothing.
        #expect(!FileManager.default.fileExists(atPath: place.path("nothing")))
    }

    /// An offline client with packaged data.
    private func client(
        _ collection: ServerCollection, packagedIn dumps: String, trusted: Bool = false
    ) -> RemoteSettingsClient {
        place.client(collection) {
            $0.packaged = [.directory(dumps, trusted: trusted)]
            $0.transport = NoTransport()
        }
    }

    /// As many collections as Mozilla has.
    @Test func manyCollectionsOffline() async throws {
        let collections = try place.server.makeManyCollections()
        #expect(collections.count == 31)
        let dumps = try await place.package(collections)
        for source in [.directory(dumps), try embedded(dumps, collections)] as [PackagedSource] {
            let service = try offlineService(source)
            var attachments = 0
            for collection in collections {
                let client = service.makeClient(collectionName: collection.id)
                let server = try collection.state()
                let records = try #require(client.records, "\(client.status)")
                #expect(client.status.recordCount == server.count)
                #expect(try #require(client.recordsByID).count == records.count)
                for record in records {
                    #expect(server[record.id] == record.lastModified)
                    guard let attachment = record.attachment else { continue }
                    let content = try #require(client.localAttachment(for: record))
                    #expect(content.bytes.count == Int(attachment.size))
                    attachments += 1
                }
            }
            #expect(attachments > 2000)
        }
    }

    @Test func unusedPackageReasons() async throws {
        let collection = try place.collection("a")
        let dumps = try await place.package([collection])
        func reason(_ change: (inout RemoteSettingsConfig) -> Void = { _ in }) -> CollectionStatus.Unused.Reason? {
            let client = place.client(collection) {
                $0.packaged = [.directory(dumps)]
                change(&$0)
            }
            #expect(client.records == nil)
            return client.status.unused.first?.reason
        }
        #expect(
            reason {
                $0.server = .stage
                $0.trustRoots = place.server.otherRoot
            } == .otherServer(found: place.server.url, expected: "https://firefox.settings.services.allizom.org"))
        #expect(reason { $0.bucketName = "other" } == .otherBucket(found: "main"))
        guard case .notTrusted(let why)? = reason({ $0.trustRoots = place.server.otherRoot }) else {
            return #expect(Bool(false), "a package signed under another root should not be trusted")
        }
        #expect(why.contains("root"))
        for absent in [PackagedSource.directory(place.path("missing")), .bundleResource(nil)] {
            guard case .unreadableSource? = reason({ $0.packaged = [absent] }) else {
                return #expect(Bool(false), "a missing directory or resource bundle should be unreadable")
            }
        }
        try FileManager.default.removeItem(atPath: "\(dumps)/main/\(collection.name).zip")
        guard case .damaged? = reason() else { return #expect(Bool(false), "a missing bundle should count as damaged") }
    }

    /// The package is readable at each step of a refresh, also by clients that read the lock file at an earlier step.
    @Test(arguments: [false, true]) func packageIsReadableDuringRefresh(trusted: Bool) async throws {
        let collection = try place.collection("a")
        let dumps = try await place.package([collection])
        let before = try collection.state()
        try collection.put("b")
        let new = try await place.package([collection], as: "new")
        let after = try collection.state()
        func client() -> RemoteSettingsClient { self.client(collection, packagedIn: dumps, trusted: trusted) }
        // A client reads the lock file when it is made, and the bundle when it is first used.
        let early = client()
        #expect(state(of: client()) == before)
        let later = client()
        for file in ["main/\(collection.name).zip", "dumps.lock.json"] {
            try Data(contentsOf: URL(fileURLWithPath: "\(new)/\(file)"))
                .write(to: URL(fileURLWithPath: "\(dumps)/\(file)"), options: .atomic)
        }
        for client in [client(), later, early] { #expect(state(of: client) == after) }
    }

    /// A checkout of half a state: a lock file without its bundle, or a bundle without its lock file.
    @Test(arguments: [(false, false), (false, true), (true, false), (true, true)])
    func lockAndBundleOfDifferentStatesAreRefused(newerBundle: Bool, trusted: Bool) async throws {
        let collection = try place.collection("a")
        let old = try await place.package([collection], as: "old")
        try collection.put("c")
        let new = try await place.package([collection], as: "new")
        let bundle = "main/\(collection.name).zip"
        let (dumps, other) = newerBundle ? (old, new) : (new, old)
        try Data(contentsOf: URL(fileURLWithPath: "\(other)/\(bundle)"))
            .write(to: URL(fileURLWithPath: "\(dumps)/\(bundle)"), options: .atomic)
        let packaged = [PackagedSource.directory(dumps, trusted: trusted)]
        let client = place.service { $0.packaged = packaged }.makeClient(collectionName: collection.id)
        #expect(client.records == nil)
        let refused = try #require(client.status.unused.first)
        #expect("\(refused)".contains("as in the lock file") && "\(refused)".contains("rsdump refresh --full"))
        // An app that validates its packages gets the error at once.
        let error = #expect(throws: RemoteSettingsError.self) {
            try RemoteSettingsService(
                storageDirectory: place.storage, validating: place.config { $0.packaged = packaged })
        }
        #expect(error.map { "\($0)" }?.contains("as in the lock file") == true)
    }

    /// An attacker with write access to an untrusted directory can truncate a bundle while it is read. If the file were
    /// mapped, this would crash the process (SIGBUS).
    @Test(arguments: [(100_000, 200), (16 << 20, 20)])
    func bundleTruncatedWhileReading(size: Int, rounds: Int) async throws {
        let collection = try place.collection("a")
        let content = Data((0..<size).map { (number: Int) in UInt8(truncatingIfNeeded: number &* number >> 7) })
        try collection.attach(content, to: "b")
        let dumps = try await place.package([collection])
        let bundle = "\(dumps)/main/\(collection.name).zip"
        let whole = try Data(contentsOf: URL(fileURLWithPath: bundle))
        func client() -> RemoteSettingsClient { self.client(collection, packagedIn: dumps) }
        func write(_ count: Int) throws {
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: bundle))
            try file.truncate(atOffset: UInt64(count))
            if count > 0 {
                try file.seek(toOffset: 0)
                try file.write(contentsOf: whole.prefix(count))
            }
            try file.close()
        }
        let early = client()
        let record = try #require(early.recordsByID?["b"])
        try write(0)
        // Verified records remain available, but an attachment has to be copied from the file.
        #expect(early.recordsByID?["b"] == record && early.localAttachment(for: record) == nil)
        #expect(client().records == nil)
        // Truncate and rewrite the file repeatedly while other clients begin to read.
        let writer = Task.detached {
            for round in 0..<rounds { try write(round % 2 == 0 ? whole.count : round * 37 % whole.count) }
            try write(whole.count)
        }
        let expected = try collection.state()
        for _ in 0..<rounds / 2 {
            let late = client()
            if let found = state(of: late) { #expect(found == expected) }
            if let found = late.localAttachment(for: record) { #expect(found.bytes == Bytes(Array(content))) }
        }
        try await writer.value
        #expect(state(of: client()) == expected)
    }

    /// A redo log is trusted no more than the lock file.
    @Test func redoLogDoesNotBypassVerification() async throws {
        let collection = try place.collection("a")
        let dumps = try await place.package([collection])
        let old = try Data(contentsOf: URL(fileURLWithPath: "\(dumps)/dumps.lock.json"))
        try collection.put("b")
        let new = try await place.package([collection], as: "new")
        let lock = try DumpsDirectory(new).lockFile()
        let log = RedoLog(
            replaces: SHA256Digest(hashing: Bytes(Array(old))), staged: [collection.collection], removed: [],
            lock: lock)
        try DumpsDirectory(dumps).prepareWork()
        try FileStore.replace(DumpsDirectory(dumps).redoLogPath, with: Bytes(log.text))
        var bundle = try Data(contentsOf: URL(fileURLWithPath: "\(new)/main/\(collection.name).zip"))
        bundle[bundle.count / 2] ^= 1
        try bundle.write(to: URL(fileURLWithPath: "\(dumps)/main/\(collection.name).zip"))
        #expect(client(collection, packagedIn: dumps).records == nil)
    }

    @Test func validationReportsEveryProblem() async throws {
        let collection = try place.collection("a")
        let dumps = try await place.package([collection])
        func problem(_ change: (inout RemoteSettingsConfig) -> Void = { _ in }) -> String? {
            do throws(RemoteSettingsError) {
                _ = try RemoteSettingsService(
                    storageDirectory: place.storage,
                    validating: place.config {
                        $0.packaged = [.directory(dumps)]
                        change(&$0)
                    })
                return nil
            } catch {
                return "\(error)"
            }
        }
        #expect(problem() == nil)
        // The package verifies against a pinned root, whichever server is configured.
        #expect(problem { $0.server = .production } == nil)
        let other = problem {
            $0.server = .production
            $0.trustRoots = place.server.otherRoot
        }
        #expect(other?.contains("https://firefox.settings.services.mozilla.com") == true)
        #expect(problem { $0.server = .custom(url: "nonsense") }?.contains("nonsense") == true)
        #expect(problem { $0.trustRoots = place.server.otherRoot }?.contains("not pinned") == true)
        #expect(problem { $0.packaged.append(.directory("/nowhere")) }?.contains("/nowhere/dumps.lock.json") == true)
        let bundle = "\(dumps)/main/\(collection.name).zip"
        try Data("no bundle".utf8).write(to: URL(fileURLWithPath: bundle))
        #expect(problem()?.contains(bundle) == true)
    }

    @Test func unsignedNeedsExplicitPermission() async throws {
        // The test server signs in `main` and `security-state` only.
        let collection = try place.server.makeCollection("unsigned")
        try collection.put("a")
        let dumps = try await place.package([collection], acceptsUnsigned: true)
        let strict = place.service { $0.packaged = [.directory(dumps, trusted: true)] }
            .makeClient(collectionName: collection.id)
        #expect(strict.records == nil)
        #expect(strict.status.unused.map(\.reason) == [.unsigned])
        await #expect(throws: RemoteSettingsError.self) { try await strict.sync() }
        let lax = place.service {
            $0.packaged = [.directory(dumps)]
            $0.acceptsUnsigned = true
        }.makeClient(collectionName: collection.id)
        #expect(lax.records?.count == 1)
        #expect(lax.status.provenance == .unsigned)
        try collection.put("b")
        try await lax.sync()
        #expect(lax.records?.count == 2)
        #expect(lax.status.provenance == .unsigned)
        #expect(strict.records == nil)
    }

    @Test func newestPackagedSourceServes() async throws {
        let collection = try place.collection("a")
        let old = try await place.package([collection], as: "old")
        try collection.put("b")
        let new = try await place.package([collection], as: "new")
        for sources in [[old, new], [new, old]] {
            let client = place.client(collection) { $0.packaged = sources.map { .directory($0) } }
            #expect(client.records?.count == 2)
            #expect(client.status.source == .packaged(new))
            #expect(client.status.unused.map(\.source) == [.packaged(old)])
        }
    }

    @Test func snapshotStatusDescribesThePackage() async throws {
        let collection = try place.collection("a")
        let dumps = try await place.package([collection])
        let timestamp = try collection.timestamp()
        let client = place.client(collection) {
            $0.packaged = [.directory(dumps)]
            $0.environment.now = { timestamp.advanced(by: .seconds(90)) }
        }
        let snapshot = client.status
        #expect(snapshot.timestamp == timestamp)
        #expect(snapshot.age == .seconds(90))
        #expect(snapshot.recordCount == 1)
        let verdict = try #require(snapshot.provenance?.verdict, "\(snapshot)")
        #expect(verdict.signer == "remote-settings.content-signature.mozilla.org")
        #expect(place.server.root.roots == [verdict.root])
        #expect(snapshot.isVerifiedOnDevice)
    }

    @Test func trustedPackageServesBeforeStoredSameState() async throws {
        let (collection, _) = try await place.synced("a")
        let dumps = try await place.package([collection])
        func client(trusted: Bool) -> RemoteSettingsClient {
            place.client(collection) { $0.packaged = [.directory(dumps, trusted: trusted)] }
        }
        // If both have to be verified, the cache takes precedence.
        #expect(client(trusted: false).status.source == .cached)
        let packaged = client(trusted: true)
        #expect(packaged.status.source == .packaged(dumps))
        #expect(packaged.status.unused.isEmpty)
        #expect(packaged.records?.map(\.id) == ["a"])
        let asked = place.server.requests.count
        try await packaged.sync()
        #expect(place.server.requests.count == asked + 1)
        #expect(packaged.status.source == .packaged(dumps))

        try collection.put("b")
        try await packaged.sync()
        #expect(packaged.status.source == .cached)
        #expect(client(trusted: true).records?.map(\.id) == ["a", "b"])

        // If the package cannot be used, the cache is served.
        let again = try await place.package([collection])
        let bundle = "\(again)/\(collection.id).zip"
        try FileManager.default.removeItem(atPath: bundle)
        let fallback = place.client(collection) { $0.packaged = [.directory(again, trusted: true)] }
        #expect(fallback.records?.map(\.id) == ["a", "b"])
        #expect(fallback.status.source == .cached)
    }
}
