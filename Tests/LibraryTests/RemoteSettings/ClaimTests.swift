import Foundation
import RemoteSettingsHTTP
import RemoteSettingsModel
import RemoteSettingsTesting
import SnapshotBundle
import Testing

@testable import RemoteSettings

/// A sync trusts a file's unverified metadata only to skip a download. A read rejects forged data, and the next
/// sync replaces it.
@Suite struct ClaimTests {
    let place: Workplace

    init() throws { place = try Workplace() }

    /// Syncs, and returns the number of requests for the collection itself.
    private func fetches(_ collection: ServerCollection, by client: RemoteSettingsClient) async throws -> Int {
        let asked = place.server.requests.count
        try await client.sync()
        return place.server.requests.dropFirst(asked).filter { $0.path.contains("/\(collection.name)/") }.count
    }

    /// Changes what the index lists for the stored state.
    private func claim(_ collection: ServerCollection, _ change: (StoredState) throws -> StoredState) throws {
        try place.files.change { index in
            let key = index.key(collection.id)
            index[key].synced.current = try index[key].synced.current.map(change)
        }
    }

    private func claim(_ collection: ServerCollection, timestamp: Timestamp) throws {
        try claim(collection) {
            StoredState(
                file: $0.file, size: $0.size, state: .init(timestamp: timestamp, payload: $0.state.payload),
                server: $0.server, root: $0.root)
        }
    }

    /// For a day after a file was hashed, a sync assumes that the file is intact. A read detects damage at once.
    @Test func unchangedSyncReadsNoState() async throws {
        let (collection, _) = try await place.synced("a")
        let file = try place.files.file(collection.id)
        let good = try Data(contentsOf: file)
        var content = good
        content[content.count - 3] ^= 1
        try content.write(to: file)
        let reader = place.client(collection)
        #expect(try await fetches(collection, by: reader) == 0)
        #expect(reader.records == nil)
        #expect(try await fetches(collection, by: reader) == 1)
        #expect(place.client(collection).records?.map(\.id) == ["a"])
        try content.write(to: place.files.file(collection.id))
        let now = HTTPEnvironment.system.now
        let tomorrow = place.client(collection) { $0.environment.now = { now().advanced(by: .seconds(86_500)) } }
        #expect(try await fetches(collection, by: tomorrow) == 1)
        // A missing file or one of the wrong size is noticed at once.
        try good.dropLast().write(to: place.files.file(collection.id))
        #expect(try await fetches(collection, by: place.client(collection)) == 1)
        try FileManager.default.removeItem(at: place.files.file(collection.id))
        #expect(try await fetches(collection, by: place.client(collection)) == 1)
        #expect(place.client(collection).records?.map(\.id) == ["a"])
    }

    /// Replaces the stored state with a changed file under its correct name.
    private func replace(_ collection: ServerCollection, _ change: (String) throws -> String) throws {
        let file = try place.files.file(collection.id)
        let content = Data(try change(String(decoding: Data(contentsOf: file), as: UTF8.self)).utf8)
        let digest = SHA256Digest(hashing: Bytes([UInt8](content)))
        try content.write(to: file.deletingLastPathComponent().appending(path: digest.hex))
        try claim(collection) {
            StoredState(file: digest, size: content.count, state: $0.state, server: $0.server, root: $0.root)
        }
    }

    enum Unusable: CaseIterable {
        case ofALaterFormat, withoutChain, forged, ofAnotherServer

        func made(of text: String) throws -> String {
            switch self {
            case .ofALaterFormat: text.replacing(#""format":1,"#, with: #""format":2,"#)
            case .withoutChain: text.replacing(try Regex(#","verifiedAt":.*"chain":"[^"]*""#), with: "")
            case .forged: text.replacing(#""id":"a""#, with: #""id":"x""#)
            case .ofAnotherServer: text.replacing("https://settings.test", with: "https://settings.else")
            }
        }
    }

    /// After a read has rejected the stored state, the next process fetches it again, even if it syncs before reading.
    @Test(arguments: Unusable.allCases) func unusableStoredStateIsFetchedAgain(_ kind: Unusable) async throws {
        let (collection, _) = try await place.synced("a")
        try replace(collection) { text in
            let made = try kind.made(of: text)
            #expect(made != text)
            return made
        }
        let first = place.client(collection)
        #expect(try await fetches(collection, by: first) == 0)
        #expect(first.records == nil)
        let next = place.client(collection)
        #expect(try await fetches(collection, by: next) == 1)
        #expect(next.records?.map(\.id) == ["a"])
        #expect(place.files.states.count == 1)
        #expect(try await fetches(collection, by: place.client(collection)) == 0)
    }

    /// A sync itself verifies a state that another process rejected, and uses it if it is valid.
    @Test func stateRefusedByAnotherProcessIsUpToDate() async throws {
        let (collection, _) = try await place.synced("a")
        try place.files.change { index in
            let key = index.key(collection.id)
            index[key].refused = index[key].synced.current?.file
        }
        let reader = place.client(collection)
        #expect(try await fetches(collection, by: reader) == 0)
        #expect(reader.records?.map(\.id) == ["a"])
        let schedule = SyncSchedule(every: .seconds(3600))
        #expect(try await pause(after: schedule, reader) > .seconds(3000))
    }

    /// Syncs as a schedule does, and returns the pause until the next sync.
    private func pause(after schedule: SyncSchedule, _ client: RemoteSettingsClient) async throws -> Duration {
        let collection = try client.collection()
        _ = try await schedule.begin(collection.session, [collection])
        try await client.sync()
        await schedule.end(collection.session)
        return schedule.pause(collection.session, [collection])
    }

    /// The index lists an unusable state newer than the server's, but a package is up to date. The sync removes the
    /// entry, and the schedule does not sync again early because of it.
    @Test(arguments: [false, true]) func unusableStoredStateIsForgottenWithPackage(isMissing: Bool) async throws {
        let collection = try place.collection("a")
        let dumps = try await place.package([collection])
        try await place.client(collection).sync()
        if isMissing {
            try FileManager.default.removeItem(at: place.files.file(collection.id))
        } else {
            try replace(collection) { try Unusable.forged.made(of: $0) }
        }
        try claim(collection, timestamp: collection.timestamp().advanced(by: .milliseconds(1)))
        let reader = place.client(collection) { $0.packaged = [.directory(dumps)] }
        #expect(reader.records?.map(\.id) == ["a"])
        let schedule = SyncSchedule(every: .seconds(3600))
        #expect(try schedule.pause(reader.collection().session, [reader.collection()]) <= .zero)
        #expect(try await pause(after: schedule, reader) > .seconds(3000))
        let index = try place.files.index()
        #expect(index[index.key(collection.id)].synced.current == nil)
    }

    /// The same with a package that is as new as the missing state.
    @Test func missingStoredStateServedByPackage() async throws {
        let collection = try place.collection("a")
        let dumps = try await place.package([collection])
        try await place.client(collection).sync()
        try FileManager.default.removeItem(at: place.files.file(collection.id))
        let reader = place.client(collection) { $0.packaged = [.directory(dumps)] }
        let schedule = SyncSchedule(every: .seconds(3600))
        #expect(try await pause(after: schedule, reader) > .seconds(3000))
    }

    @Test func oldStateUnderTheServersTimestamp() async throws {
        let (collection, _) = try await place.synced("a")
        let dumps = try await place.package([collection])
        try collection.put("b")
        try claim(collection, timestamp: collection.timestamp())
        let reader = place.client(collection) { $0.packaged = [.directory(dumps)] }
        #expect(try await fetches(collection, by: reader) == 0)
        #expect(reader.records?.map(\.id) == ["a"])
        #expect(reader.status.source != .cached)
        // The read rejected the stored state, so the next sync fetches the current one.
        #expect(try await fetches(collection, by: reader) > 0)
        #expect(reader.records?.map(\.id) == ["a", "b"])
    }

    /// A stored state that verifies only against another root is neither served nor deleted by a read.
    @Test func storedStateOfAnotherRootIsNotServed() async throws {
        let collection = try place.collection()
        let forger = try Workplace()
        let forged = try forger.server.makeCollection(id: collection.id)
        let time = Timestamp(milliseconds: 1_700_000_000_000)
        forged.load(["evil": #"{"id":"evil","last_modified":1700000000000}"#], files: [], timestamp: time)
        forged.sign([SignatureForm(.ofOtherRoot)])
        try await forger.service { $0.trustRoots = forger.server.otherRoot }
            .makeClient(collectionName: forged.name).sync()
        collection.load(["a": #"{"id":"a","last_modified":1700000000000}"#], files: [], timestamp: time)
        try place.files.replace(collection.id, by: Data(contentsOf: forger.files.file(forged.id)))
        let file = try place.files.file(collection.id).path
        let reader = place.client(collection)
        #expect(reader.records == nil)
        #expect(FileManager.default.fileExists(atPath: file))
        #expect(try await fetches(collection, by: place.client(collection)) == 1)
        #expect(place.client(collection).records?.map(\.id) == ["a"])
        #expect(try await fetches(collection, by: place.client(collection)) == 0)
        #expect(reader.records?.map(\.id) == ["a"])
    }

    /// The index is not signed, so a forged high-water mark can block an honest server only for a day.
    @Test func forgedIndexHighWaterMarkHoldsForADay() async throws {
        let (collection, _) = try await place.synced("a")
        let now = HTTPEnvironment.system.now
        try place.files.change { index in
            let key = index.key(collection.id)
            index[key].newest = index[key].newest.map {
                .init(root: $0.root, timestamp: now().advanced(by: .seconds(20 * 3600)))
            }
        }
        try collection.put("b")
        for hours: Int64 in [0, 23] {
            let reader = place.client(collection) { config in
                config.environment.now = { now().advanced(by: .seconds(hours * 3600)) }
            }
            #expect(await refusal(of: reader).contains("older state"))
        }
        let reader = place.client(collection) { $0.environment.now = { now().advanced(by: .seconds(25 * 3600)) } }
        try await reader.sync()
        #expect(reader.records?.map(\.id) == ["a", "b"])
    }

    @Test(arguments: ["timestamp", "server", "root"])
    func forgedIndexEntryIsFetchedAgain(_ forged: String) async throws {
        let (collection, _) = try await place.synced("a")
        let later = try collection.timestamp().advanced(by: .milliseconds(1))
        try claim(collection) {
            StoredState(
                file: $0.file, size: $0.size,
                state: forged == "timestamp" ? .init(timestamp: later, payload: $0.state.payload) : $0.state,
                server: forged == "server" ? "https://other.test" : $0.server, root: forged == "root" ? nil : $0.root)
        }
        let reader = place.client(collection)
        let count = try await fetches(collection, by: reader)
        // A sync does not depend on the root in the index.
        #expect(count == 1 || forged == "root")
        #expect(reader.records?.map(\.id) == ["a"])
    }

    /// A damaged bundle in a trusted directory has the server's timestamp. The first sync detects the damage.
    @Test func damagedTrustedBundleIsFetchedBySync() async throws {
        let collection = try place.collection(with: ["a": ["text": String(repeating: "the truth ", count: 50)]])
        let dumps = try await place.package([collection])
        let packaged = [PackagedSource.directory(dumps, trusted: true)]
        #expect(try await fetches(collection, by: place.client(collection) { $0.packaged = packaged }) == 0)
        #expect(place.files.states.isEmpty)
        let bundle = URL(fileURLWithPath: "\(dumps)/\(collection.id).zip")
        var content = try Data(contentsOf: bundle)
        // The name also occurs in the manifest, which comes first.
        let entry = try #require(content.ranges(of: Data("records.json".utf8)).dropFirst().first)
        content[entry.upperBound + 40] ^= 0x24
        try content.write(to: bundle, options: .atomic)
        let reader = place.client(collection) { $0.packaged = packaged }
        #expect(try await fetches(collection, by: reader) == 1)
        #expect(reader.records?.map(\.id) == ["a"])
        #expect(try await fetches(collection, by: place.client(collection) { $0.packaged = packaged }) == 0)
    }

    /// A change stream reports a state stored by another process once the client uses it.
    @Test func changesTellOfStateStoredByAnotherProcess() async throws {
        let (collection, _) = try await place.synced("a")
        let follower = place.client(collection)
        let changes = follower.changes()
        try await follower.sync()
        try collection.put("b")
        try await place.client(collection).sync()
        _ = follower.records
        var iterator = changes.makeAsyncIterator()
        #expect(await iterator.next()?.created.map(\.id) == ["b"])
    }
}
