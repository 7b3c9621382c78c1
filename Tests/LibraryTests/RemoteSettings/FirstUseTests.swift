import Foundation
import Observation
import RemoteSettingsModel
import RemoteSettingsTesting
import SnapshotBundle
import Testing

/// Problems that an app may encounter when it first uses the library.
@Suite struct FirstUseTests {
    let place: Workplace

    init() throws { place = try Workplace() }

    private func reasons(_ client: RemoteSettingsClient) -> [String] { client.status.unused.map { "\($0)" } }

    @Test func trustedBundleWithDamagedChainServes() async throws {
        let collection = try place.collection("a")
        let dumps = try await place.package([collection])
        let path = "\(dumps)/\(collection.bucket)/\(collection.name).zip"
        var content = try Data(contentsOf: URL(filePath: path))
        // Find the local header of the entry; its compressed bytes follow.
        let header = Data("PK\u{3}\u{4}".utf8)
        var name = try #require(content.range(of: Data("chain.pem".utf8)))
        while content[(name.lowerBound - 30)..<(name.lowerBound - 26)] != header {
            let others = name.upperBound..<content.endIndex
            name = try #require(content.range(of: Data("chain.pem".utf8), in: others))
        }
        content[name.upperBound + 20] ^= 0xFF
        try content.write(to: URL(filePath: path))
        for isTrusted in [true, false] {
            let client = place.client(collection) { $0.packaged = [.directory(dumps, trusted: isTrusted)] }
            #expect(client.records?.count == (isTrusted ? 1 : nil))
        }
    }

    @Test func unknownCollectionNameIsExplained() async throws {
        let service = place.service()
        #expect(reasons(service.makeClient(collectionName: "regoins")).first?.contains("check its name") == true)
        #expect(reasons(service.makeClient(collectionName: "a b")).first?.contains("a b") == true)
        let impossible = service.makeClient(collectionName: "../../etc/passwd")
        #expect(impossible.records == nil && impossible.status.source == .noSnapshot)
        await #expect(throws: RemoteSettingsError.self) { try await impossible.resetStorage() }
    }

    @Test func recordDecodingErrorNamesTheRecord() async throws {
        struct Market: Decodable { let name: String }
        let (collection, client) = try await place.synced(with: ["de": ["name": "Germany"], "fr": ["name": 7]])
        let error = #expect(throws: RecordDecodingError.self) { try client.records(as: Market.self) }
        #expect(error?.record == "fr" && error?.collection == collection.name)
        var left: [String] = []
        #expect(client.records(as: Market.self) { left.append($0.record) }?.map(\.name) == ["Germany"])
        #expect(left == ["fr"])
    }

    private static let decodings = Mutex(0)

    @Test func recordsAreDecodedOncePerState() async throws {
        struct Counted: Decodable {
            init(from decoder: any Decoder) { FirstUseTests.decodings.withLock { $0 += 1 } }
        }
        let (collection, client) = try await place.synced("a")
        for _ in 0..<3 { #expect(try client.records(as: Counted.self)?.count == 1) }
        #expect(Self.decodings.withLock { $0 } == 1)
        try collection.put("b")
        try await client.sync()
        for _ in 0..<3 { #expect(try client.records(as: Counted.self)?.count == 2) }
        #expect(Self.decodings.withLock { $0 } == 3)
    }

    /// A view that reads records is updated after a sync and after a change of the app context.
    @Test func recordsAreObservable() async throws {
        let collection = try place.collection("all", with: ["beta": ["filter_expression": "env.channel == 'beta'"]])
        let service = place.service()
        let client = service.makeClient(collectionName: collection.name)
        let changes = Collector<Int>()
        func watch() -> Int? {
            withObservationTracking {
                client.records?.count
            } onChange: {
                changes.add(1)
            }
        }
        #expect(watch() == nil)
        try await client.sync()
        #expect(changes.all.count == 1 && watch() == 1)
        try await client.sync()
        #expect(changes.all.count == 1)
        try service.updateConfig(config: place.config { $0.appContext = RemoteSettingsContext(channel: "beta") })
        #expect(changes.all.count == 2 && watch() == 2)
    }

    @Test func recordUpdatesStartWithHeldAndFollowContext() async throws {
        let collection = try place.collection("all", with: ["beta": ["filter_expression": "env.channel == 'beta'"]])
        let service = place.service()
        let client = service.makeClient(collectionName: collection.name)
        var updates = client.recordUpdates().makeAsyncIterator()
        // The sync ends after the call of `recordUpdates`, but before the first read.
        try await client.sync()
        #expect(await updates.next()?.count == 0)
        #expect(await updates.next()?.map(\.id) == ["all"])
        try service.updateConfig(config: place.config { $0.appContext = RemoteSettingsContext(channel: "beta") })
        #expect(await updates.next()?.map(\.id) == ["all", "beta"])
        client.shutdown()
        #expect(await updates.next() == nil)
    }

    @Test func lastCheckIsNilAfterFailedSync() async throws {
        let collection = try place.collection("a")
        let service = place.service { $0.trustRoots = .mozillaProduction }
        let client = service.makeClient(collectionName: collection.name)
        await #expect(throws: RemoteSettingsError.self) { try await service.sync() }
        #expect(service.lastCheck == nil && service.inspect().lastCheck == nil)
        withExtendedLifetime(client) {}
    }
}
