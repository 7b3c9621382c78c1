@testable import Dumps
import Foundation
import RemoteSettingsHTTP
import RemoteSettingsModel
import RemoteSettingsTesting
import SnapshotBundle
import Testing

/// A dumps directory with one collection, and its server in memory.
private final class RefreshPlace {
    let server: OriginTransport
    let collection: ServerCollection
    let directory: DumpsDirectory
    var configuration = DumpsConfiguration()
    private let folder = try! TemporaryDirectory()

    /// Creates a collection of one record with a small attachment.
    init() throws {
        server = try OriginTransport()
        collection = try server.makeCollection()
        directory = DumpsDirectory("\(folder.path)/dumps")
        configuration.server = server.url
        configuration.collections = [.init(id: collection.collection, attachments: AttachmentRule())]
        try collection.attach(Data("first".utf8), to: "a")
        try FileManager.default.createDirectory(atPath: directory.path, withIntermediateDirectories: true)
    }

    var settings: DumpsConfiguration.Collection {
        get { configuration.collections[0] }
        set { configuration.collections[0] = newValue }
    }
    var id: CollectionID { collection.collection }
    var bundlePath: String { directory.bundlePath(id) }
    func bundle() throws -> Data { try Data(contentsOf: URL(filePath: bundlePath)) }
    func lock() throws -> LockFile { try directory.lockFile() }

    /// Returns the bundle's records.
    func records() throws -> String { try BundleReader(path: bundlePath).payloadText().text }

    @discardableResult
    func refresh(
        isFull: Bool = false, accepting: Bool = false, isLocked: Bool = false, jobs: Int = 8
    ) async throws -> (CollectionOutcome, RefreshReport) {
        var environment = HTTPEnvironment.system
        environment.sleep = { _ in }
        let client = ServerClient(
            server: try ServerURL(server.url), transport: server, userAgent: UserAgent(name: "tests", version: "1"),
            environment: environment)
        var options = Refresh.Options()
        options.isFull = isFull
        (options.jobs, options.streams) = (jobs, jobs)
        options.accepted = accepting ? [id] : []
        options.isLocked = isLocked
        let transaction = try await DumpsTransaction.begin(in: directory, isReadOnly: options.isReadOnly)
        defer { try? transaction.end() }
        let refresh = Refresh(
            transaction, configuration: configuration, client: client, policy: TrustPolicy(roots: server.root),
            options: options, now: environment.now(), onEvent: { _ in })
        let report = try await refresh.run()
        return (try #require(report.outcomes.first), report)
    }

    /// Returns the body of the collection's changeset after an optional change.
    func state(_ change: (inout [String: Any]) -> Void = { _ in }) throws -> String {
        var changeset = try collection.changeset()
        change(&changeset)
        return String(decoding: try JSONSerialization.data(withJSONObject: changeset), as: UTF8.self)
    }

    /// Makes the server respond with a changed changeset.
    func serve(_ change: (inout [String: Any]) -> Void) throws {
        server.inject([Fault("/\(collection.name)/changeset", effect: .body(try state(change)))])
    }

    /// Returns the paths that `body` requests.
    func requests(_ body: () async throws -> Void) async throws -> [String] {
        let before = server.requests.count
        try await body()
        return server.requests.dropFirst(before).map(\.path)
    }

    /// Refreshes, and expects a failure that leaves the bundle and the lock file unchanged.
    func expectFailure(_ kind: FailureClass, isFull: Bool = false) async throws {
        let (bundle, lock) = (try bundle(), try lock())
        let outcome = try await refresh(isFull: isFull).0
        #expect(outcome.status == .failed)
        #expect(outcome.error.map(FailureClass.init) == kind, "\(String(describing: outcome.error))")
        #expect(try self.bundle() == bundle)
        #expect(try self.lock() == lock)
    }
}

/// The rows of the table in the doc comment of `CollectionRefresher`.
struct CollectionRefreshTests {
    private let place: RefreshPlace

    init() throws { place = try RefreshPlace() }

    @Test func firstRefreshCreatesBundle() async throws {
        let (outcome, _) = try await place.refresh()
        #expect(outcome.status == .created && outcome.attachments.downloaded == 1 && outcome.error == nil)
        #expect(try place.lock().collections[place.id] == outcome.entry)
        #expect(!FileManager.default.fileExists(atPath: place.directory.workPath))
    }

    /// A failure acknowledged in dumps.yaml is tolerated until its last day is over; a different failure is not.
    @Test func acknowledgedFailures() async throws {
        try await place.refresh()
        let tomorrow = HTTPEnvironment.system.now().advanced(by: .seconds(86_400))
        place.settings.acknowledged = Acknowledgement(kind: .changeset, until: tomorrow, reason: "bug 1234")
        let fine = try await place.refresh()
        #expect(fine.0.status == .unchanged && fine.0.notes.contains { $0.contains("remove acknowledged:") })
        try place.collection.put("b")
        try place.serve { $0["changes"] = "none" }
        let (outcome, report) = try await place.refresh()
        #expect(outcome.status == .acknowledged && outcome.error?.cause == .changeset && outcome.entry == nil)
        #expect(report.failed.isEmpty && report.acknowledged.count == 1 && !report.isUnreachable)
        place.settings.acknowledged?.kind = .signature
        let other = try await place.refresh()
        #expect(other.0.status == .failed && other.0.notes.contains { $0.contains("this failure is new") })
        let past = try #require(Pin.date("2020-02-29"))
        place.settings.acknowledged = Acknowledgement(kind: .changeset, until: past, reason: nil)
        let over = try await place.refresh()
        #expect(over.0.status == .failed && over.0.notes.contains { $0.hasSuffix("until 2020-02-29") })
        // A locked run ignores acknowledgements.
        place.settings.acknowledged = Acknowledgement(kind: .budget, until: tomorrow)
        place.settings.budget.bundle = 1
        place.server.inject([])
        #expect(try await place.refresh(isLocked: true).0.status != .acknowledged)
    }

    /// A possible attack can be acknowledged for at most a month.
    @Test func invalidSignatureAcknowledgementExpires() async throws {
        try await place.refresh()
        place.collection.sign([SignatureForm(isTampered: true)])
        try place.collection.put("b")
        let now = HTTPEnvironment.system.now()
        for (until, isAcknowledged) in [
            (try #require(Pin.date("9999-12-31")), false), (now.advanced(by: .seconds(31 * 86_400)), false),
            (now.advanced(by: .seconds(29 * 86_400)), true),
        ] {
            place.settings.acknowledged = Acknowledgement(kind: .signature, until: until)
            let outcome = try await place.refresh().0
            #expect(
                outcome.status == (isAcknowledged ? .acknowledged : .failed)
                    && outcome.error.map(FailureClass.init) == .signature)
            #expect(outcome.notes.contains { $0.contains("at most 30 days") } == !isAcknowledged)
        }
    }

    /// Neither the number of concurrent requests nor the order of their responses changes the bundle.
    @Test func refreshIsReproducibleWithAnyJobs() async throws {
        for number in 0..<20 { try place.collection.attach(Data("file \(number)".utf8), to: "r\(number)") }
        try await place.refresh(jobs: 1)
        let first = try place.bundle()
        try FileManager.default.removeItem(atPath: place.bundlePath)
        try await place.refresh(jobs: 16)
        #expect(try place.bundle() == first)
    }

    @Test func unchangedWritesNothing() async throws {
        try await place.refresh()
        let bundle = try place.bundle()
        let requests = try await place.requests {
            let outcome = try await place.refresh().0
            #expect(outcome.status == .unchanged)
        }
        #expect(requests.count == 1 && requests[0].contains("/monitor/"))
        #expect(try place.bundle() == bundle)
    }

    @Test func changesComeAsDelta() async throws {
        try await place.refresh()
        try place.collection.put("b", ["n": 1])
        let requests = try await place.requests {
            let outcome = try await place.refresh().0
            #expect(outcome.status == .updated && outcome.changes?.created == 1 && outcome.attachments.reused == 1)
        }
        #expect(requests.contains { $0.contains("_since=") } && !requests.contains { $0.contains("/attachments/") })
        #expect(try place.records().contains(#""id":"b""#))
    }

    @Test func invalidDeltaFetchesAllRecords() async throws {
        try await place.refresh()
        try place.collection.put("b", ["n": 1])
        var lie = try place.collection.changeset()
        lie["changes"] = [["id": "b", "last_modified": lie["timestamp"], "n": 2]]
        let text = String(decoding: try JSONSerialization.data(withJSONObject: lie), as: UTF8.self)
        place.server.inject([Fault("_since=", effect: .body(text))])
        let requests = try await place.requests {
            let outcome = try await place.refresh().0
            #expect(outcome.status == .updated && outcome.notes.contains { $0.contains("a delta could not be used") })
        }
        #expect(requests.count { $0.contains("/\(place.collection.name)/changeset") } == 2)
        #expect(try place.records().contains(#""n":1"#))
    }

    @Test func unverifiableServerStateIsRefused() async throws {
        try await place.refresh()
        place.collection.sign([SignatureForm(isTampered: true)])
        try place.collection.put("b")
        try await place.expectFailure(.signature)
    }

    @Test(arguments: [Fault.Effect.corrupted, .status(404)])
    func wrongAttachmentIsRefused(_ effect: Fault.Effect) async throws {
        try await place.refresh()
        try place.collection.attach(Data("second".utf8), to: "b")
        place.server.inject([Fault("/attachments/", effect: effect)])
        try await place.expectFailure(.attachment)
        place.server.inject([])
        #expect(try await place.refresh().0.status == .updated)
    }

    @Test func interruptedDownloadsAreReused() async throws {
        let large = Data(repeating: 7, count: 3 << 20)
        try place.collection.attach(large, to: "b")
        let last = Data("last".utf8)
        try place.collection.attach(last, to: "c")
        let digest = SHA256Digest(hashing: Bytes(Array(last))).hex.prefix(32)
        let others = [large, Data("first".utf8)].map { file in
            (place.directory.stagedPath(SHA256Digest(hashing: Bytes(Array(file))), of: place.id), file.count)
        }
        // The download fails once the others are complete.
        place.server.wait = { _ in
            while try !others.allSatisfy({ try FileStore.size($0.0) == $0.1 }) {
                try await Task.sleep(for: .milliseconds(1))
            }
        }
        place.server.inject([Fault("\(digest).bin", effect: .status(404), delay: .zero)])
        #expect(try await place.refresh().0.status == .failed)
        place.server.inject([])
        let requests = try await place.requests {
            let outcome = try await place.refresh().0
            #expect(outcome.status == .created && outcome.attachments.downloaded == 1)
            #expect(outcome.attachments.resumed == 2)
        }
        #expect(requests.count { $0.contains("/attachments/") } == 1)
        #expect(!FileManager.default.fileExists(atPath: place.directory.workPath))
    }

    @Test func overBudgetIsRefused() async throws {
        try await place.refresh()
        try place.collection.attach(Data(repeating: 7, count: 100), to: "b")
        place.settings.budget.attachment = 10
        let requests = try await place.requests { try await place.expectFailure(.budget) }
        #expect(!requests.contains { $0.contains("/attachments/") })
        (place.settings.budget.attachment, place.settings.budget.bundle) = (nil, 10)
        try await place.expectFailure(.budget)
        // An existing bundle over the budget fails, too, even if the server's data has not changed.
        place.settings.budget.bundle = nil
        #expect(try await place.refresh().0.status == .updated)
        place.settings.budget.bundle = 10
        try await place.expectFailure(.budget)
        try await place.expectFailure(.budget, isFull: true)
    }

    @Test func guardViolationIsRefused() async throws {
        try place.collection.put("b")
        try await place.refresh()
        place.settings.guards.maxRemoved = .records(0)
        place.collection.delete("b")
        let before = place.server.requests.count
        try await place.expectFailure(.guarded)
        #expect(!place.server.requests.dropFirst(before).contains { $0.path.contains("/attachments/") })
        // The guard keeps stopping the data: neither another attempt nor a full download accepts it.
        try await place.expectFailure(.guarded, isFull: true)
        // Once the server's data is fixed, nothing has to be accepted.
        try place.collection.put("b")
        #expect(try await place.refresh().0.status == .updated)
        #expect(try place.lock().collections[place.id]?.accepted == [])
    }

    @Test func acceptedViolationIsRecorded() async throws {
        try place.collection.put("b")
        try await place.refresh()
        place.collection.delete("a")
        place.collection.delete("b")
        try await place.expectFailure(.guarded)
        let outcome = try await place.refresh(accepting: true).0
        #expect(outcome.status == .updated && outcome.accepted.map(\.guarding) == [.notEmptied])
        let sentence = "not-emptied: all 2 records are gone, at least 1 is required"
        #expect(try place.lock().collections[place.id]?.accepted == [sentence])
        // The acceptance belongs to the state: repacking the bundle keeps it, the next state drops it.
        place.settings.attachments = AttachmentRule(.none)
        #expect(try await place.refresh().0.status == .repacked)
        #expect(try place.lock().collections[place.id]?.accepted == [sentence])
        try place.collection.put("c")
        try await place.refresh(accepting: true)
        #expect(try place.lock().collections[place.id]?.accepted == [])
    }

    @Test func pinnedCollectionIsNotUpdated() async throws {
        try await place.refresh()
        let held = try #require(try place.lock().collections[place.id]).timestamp
        place.settings.pin = Pin(at: held)
        try place.collection.put("b")
        #expect(try await place.refresh().0.status == .pinned)
        place.settings.pin = Pin(at: held.advanced(by: .seconds(-1)))
        try await place.expectFailure(.pin)
    }

    @Test func collectionGoneFromServerKeepsBundle() async throws {
        try await place.refresh()
        place.collection.deleteCollection()
        try await place.expectFailure(.gone)
    }

    @Test func damagedBundleIsRepaired() async throws {
        try await place.refresh()
        let bundle = try place.bundle()
        try bundle.dropLast(10).write(to: URL(filePath: place.bundlePath))
        #expect(try await place.refresh().0.status == .repaired)
        #expect(try place.bundle() == bundle)

        // Only a record is damaged; the size is correct, so only `--full` detects it.
        let header = Data("PK\u{3}\u{4}".utf8)
        var damaged = bundle
        var offset = try #require(bundle.range(of: header)).upperBound
        offset = try #require(bundle.range(of: header, in: offset..<bundle.count)).lowerBound
        #expect(String(decoding: bundle[(offset + 30)..<(offset + 42)], as: UTF8.self) == "records.json")
        damaged[offset + 60] ^= 0x55
        try damaged.write(to: URL(filePath: place.bundlePath))
        let requests = try await place.requests {
            let outcome = try await place.refresh(isFull: true).0
            #expect(outcome.status == .repaired)
            #expect(outcome.attachments.reused == 1 && outcome.attachments.downloaded == 0)
        }
        #expect(!requests.contains { $0.contains("/attachments/") })
        #expect(try place.bundle() == bundle)
    }

    @Test func equivocationIsRefused() async throws {
        try await place.refresh()
        let held = try #require(try place.lock().collections[place.id]).timestamp
        place.collection.load(["z": #"{"id":"z","last_modified":\#(held)}"#], files: [], timestamp: held)
        try await place.expectFailure(.equivocation, isFull: true)
    }

    /// The signature covers neither flags nor schema, and changing them does not change the timestamp.
    @Test func changedMetadataNeedsFullRefresh() async throws {
        try await place.refresh()
        try place.serve { $0["metadata"] = ($0["metadata"] as? [String: Any])?.merging(["flags": ["x"]]) { $1 } }
        #expect(try await place.refresh().0.status == .unchanged)
        let outcome = try await place.refresh(isFull: true).0
        #expect(outcome.status == .updated && outcome.notes == ["its metadata has changed: flags"])
        #expect(try BundleReader(path: place.bundlePath).metadataText().text.contains(#""flags":["x"]"#))
        // The bundle now contains the change, and metadata written by the signer is ignored.
        place.collection.signAgain()
        try place.serve { $0["metadata"] = ($0["metadata"] as? [String: Any])?.merging(["flags": ["x"]]) { $1 } }
        #expect(try await place.refresh(isFull: true).0.status == .unchanged)
    }

    @Test(arguments: [false, true])
    func olderServerChangesNothing(isFull: Bool) async throws {
        try await place.refresh()
        let list = try place.server.monitor()
        let state = try place.state()
        try place.collection.put("b")
        try await place.refresh()
        let bundle = try place.bundle()
        place.server.inject([
            Fault("/monitor/", effect: .body(list)), Fault("/\(place.collection.name)/", effect: .body(state)),
        ])
        let outcome = try await place.refresh(isFull: isFull).0
        #expect(outcome.status == .unchanged && outcome.error == nil)
        #expect(outcome.notes.count == 1 && outcome.notes[0].contains("older than the bundle"))
        #expect(try place.bundle() == bundle)
    }

    @Test(arguments: [false, true])
    func undeliveredStateFails(isFull: Bool) async throws {
        try await place.refresh()
        let state = try place.state()
        try place.collection.put("b")
        place.server.inject([Fault("/\(place.collection.name)/", effect: .body(state))])
        try await place.expectFailure(.undelivered, isFull: isFull)
    }

    /// A later timestamp in an edited lock file or an unsigned bundle does not block the server's older state.
    @Test(arguments: [false, true])
    func unverifiedTimestampIsNoFloor(isUnsigned: Bool) async throws {
        try await place.refresh()
        let held = try #require(try place.lock().collections[place.id])
        let later = held.timestamp.advanced(by: .seconds(3600))
        if isUnsigned {
            let payload = try Payload(parsing: Bytes(utf8: #"{"data":[],"last_modified":"\#(later)"}"#))
            let unverified = UnverifiedSnapshot(
                collection: place.id, payload: payload, metadata: try CollectionMetadata(parsing: Bytes(utf8: "{}")))
            let transaction = try await DumpsTransaction.begin(in: place.directory)
            _ = try transaction.stage(
                Snapshot(vouchingFor: unverified, chain: nil, provenance: .imported), attachments: [:],
                settings: place.settings, server: place.server.url)
            try transaction.commit(place.configuration)
            try transaction.end()
        } else {
            var entry = held
            entry.timestamp = later
            try FileStore.replace(place.directory.lockPath, with: Bytes(LockFile(collections: [place.id: entry]).text))
        }
        let outcome = try await place.refresh().0
        #expect(outcome.status == .updated || outcome.status == .repaired, "\(String(describing: outcome.error))")
        #expect(try place.lock().collections[place.id]?.timestamp == held.timestamp)
        #expect(try place.lock().collections[place.id]?.trust.isSigned == true)
    }

    @Test func changedRuleRepacksBundle() async throws {
        try await place.refresh()
        place.settings.attachments = AttachmentRule(.none)
        let requests = try await place.requests {
            let outcome = try await place.refresh().0
            #expect(outcome.status == .repacked && outcome.entry?.attachments == 0)
        }
        #expect(requests.count == 1)
        #expect(try place.lock().collections[place.id]?.attachmentRule == "none")
    }
}
