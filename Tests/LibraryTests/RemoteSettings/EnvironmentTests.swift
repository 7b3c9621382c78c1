import Foundation
import RemoteSettingsHTTP
import RemoteSettingsModel
import RemoteSettingsTesting
import SnapshotBundle
import Testing

@testable import RemoteSettings

/// Staging and production share a root, so signatures alone do not separate their data.
@Suite struct EnvironmentTests {
    let place: Workplace
    let staging: OriginTransport

    init() throws {
        place = try Workplace()
        staging = try OriginTransport(address: "https://staging.test")
    }

    /// A client as in a newly started process.
    private func client(
        _ id: String, of server: OriginTransport? = nil, isOffline: Bool = false, packaged: [PackagedSource] = [],
        _ change: (inout RemoteSettingsConfig) -> Void = { _ in }
    ) -> RemoteSettingsClient {
        place.service {
            if let server { ($0.server, $0.transport) = (.custom(url: server.url), server) }
            if isOffline { $0.transport = NoTransport() }
            $0.packaged = packaged
            change(&$0)
        }.makeClient(collectionName: id)
    }

    /// The same collection on both servers; staging has the newer state.
    private func both() throws -> (own: ServerCollection, foreign: ServerCollection) {
        let own = try place.server.makeCollection(id: "main/markets")
        let foreign = try staging.makeCollection(id: "main/markets")
        for (collection, name, time) in [
            (own, "production", 1_700_000_000_000), (foreign, "staging", 1_700_000_900_000 as UInt64),
        ] {
            collection.load(
                [name: #"{"id":"\#(name)","last_modified":\#(time)}"#], files: [],
                timestamp: Timestamp(milliseconds: time))
        }
        return (own, foreign)
    }

    private func ids(_ client: RemoteSettingsClient) -> [String]? { client.records?.map(\.id) }

    /// A package whose lock file lists `server` as the origin.
    private func packaged(_ collection: ServerCollection, from server: String) throws -> PackagedSource {
        let source = try collection.server.packaged(collection)
        guard case .embedded(let text, let bundles) = source.form else { return source }
        var lock = try LockFile(parsing: text, path: "test")
        for id in lock.collections.keys { lock.collections[id]?.server = server }
        return .embedded(lock: Bytes(lock.text), bundles: bundles, name: "from \(server)")
    }

    /// Two configurations alternate on one directory. Each serves its own state, also offline, reports why the state
    /// of the other is not used, and shares nothing with it.
    @Test func alternatingServersKeepTheirOwnStates() async throws {
        let (own, foreign) = try both()
        try own.attach(Data("production".utf8), to: "file")
        // Attach twice, so that staging's state is newer.
        for content in ["earlier", "staging"] { try foreign.attach(Data(content.utf8), to: "file") }
        for round in 0..<2 {
            for server in [place.server, staging] {
                let client = client(own.id, of: server)
                _ = try await client.sync()
                let record = try #require(client.records?.first { $0.id == "file" })
                let isDownloaded = client.localAttachment(for: record) == nil
                #expect(isDownloaded == (round == 0))
                _ = try await client.getAttachment(record: record)
            }
        }
        #expect(ids(client(own.id, isOffline: true)) == ["file", "production"])
        let other = client(own.id, of: staging, isOffline: true)
        #expect(ids(other) == ["file", "staging"])
        #expect(place.files.states.count == 2)
        // An unused state is reported only if it is newer than the served one.
        let rejected = client(own.id, isOffline: true).status.unused + other.status.unused
        #expect(rejected.count == 1 && "\(rejected)".contains("but the configuration specifies"), "\(rejected)")
        // A lost index is rebuilt for both servers.
        try FileManager.default.removeItem(atPath: "\(place.storage)/index.json")
        #expect(ids(client(own.id, isOffline: true)) == ["file", "production"])
        #expect(ids(client(own.id, of: staging, isOffline: true)) == ["file", "staging"])
    }

    /// A package from staging, newer than production's state, is served until the first sync, which may bring older
    /// data. After that nothing is fetched again, and the status reports why the package is not used.
    @Test func stagingPackageIsNoMinimumForSync() async throws {
        let (own, foreign) = try both()
        let packages = [try staging.packaged(foreign)]
        let running = client(own.id, packaged: packages)
        let beside = client(own.id, packaged: packages)
        #expect(ids(running) == ["staging"] && ids(beside) == ["staging"])
        try await running.sync()
        #expect(ids(running) == ["production"] && ids(beside) == ["production"])
        let later = client(own.id, packaged: packages)
        #expect(ids(later) == ["production"])
        #expect(
            later.status.unused.map(\.reason) == [.otherServer(found: staging.url, expected: "https://settings.test")])
        let asked = place.server.requests.count
        try await later.sync()
        #expect(place.server.requests.count == asked + 1)
        // A packaged state from production takes precedence over it.
        let fresh = RemoteSettingsService(
            storageDirectory: place.path("new"),
            config: place.config { $0.packaged = packages + [try! place.server.packaged(own)] })
        #expect(ids(fresh.makeClient(collectionName: own.id)) == ["production"])
    }

    /// After an update of the app, the package is newer than the stored state. It counts as the server's in any
    /// spelling of the URL, and also if its origin is unknown.
    @Test(arguments: [
        "https://settings.test/v1", "https://settings.test/v2", "https://settings.test",
        "HTTPS://Settings.TEST:443/v1/", "an import of yesterday",
    ]) func serverURLSpellingsMatchPackagedOrigin(server: String) async throws {
        let own = try place.server.makeCollection(id: "main/markets")
        try own.put("old")
        try await client(own.id).sync()
        try own.put("new")
        let updated = client(own.id, isOffline: true, packaged: [try packaged(own, from: server)])
        #expect(ids(updated) == ["new", "old"])
    }

    /// The storage directory does not grow with each server that a developer tries.
    @Test func storageIndexIsBoundedAcrossServers() async throws {
        for number in 0..<8 {
            let server = try OriginTransport(address: "http://127.0.0.1:\(9000 + number)")
            let collection = try server.makeCollection(id: "main/markets")
            try collection.put("r")
            try await client(collection.id, of: server).sync()
            #expect(ids(client(collection.id, of: server, isOffline: true)) == ["r"])
        }
        #expect(try place.files.index().collections.count == 4)
        #expect(place.files.states.count == 4)
    }

    /// A release test can require data from a specific environment.
    @Test func requiredEnvironment() throws {
        let (own, foreign) = try both()
        let service = place.service { $0.packaged = [try! place.server.packaged(own)] }
        try service.require([own.id], environment: .custom(url: "https://SETTINGS.test:443/v2"))
        let wrong = place.service { $0.packaged = [try! staging.packaged(foreign)] }
        try wrong.require([own.id])
        let error = #expect(throws: RemoteSettingsError.self) {
            try wrong.require([own.id], environment: .custom(url: place.server.url))
        }
        #expect(
            "\(error as Any)".contains(
                "main/markets: expected data from https://settings.test, found data from https://staging.test"))
        // Data of unknown origin is valid for every server.
        try place.service { $0.packaged = [try! packaged(foreign, from: "an import")] }
            .require([own.id], environment: .custom(url: place.server.url))
    }
}
