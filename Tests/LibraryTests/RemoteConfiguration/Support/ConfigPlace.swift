import Dumps
import Foundation
import RemoteConfiguration
import RemoteSettingsHTTP
import RemoteSettingsModel
import RemoteSettingsTesting
import SnapshotBundle
import Testing

/// A test fixture: a temporary directory, a server with one collection, and control over time and random numbers.
final class ConfigPlace: Sendable {
    /// The clock and the random number that a test controls. The clock runs in real time unless frozen.
    struct World: Sendable {
        var offset: Int64 = 0
        var frozen: UInt64?
        var random = 0.5
    }

    let directory: URL
    let server: OriginTransport
    let collection: ServerCollection
    let world = Mutex(World())

    var storage: String { directory.appending(path: "storage").path }
    var indexFile: String { "\(storage)/index.json" }

    /// - Parameter address: the server's address.
    init(address: String = "https://settings.test") throws {
        directory = SteppedTime.folder.appending(path: "rc-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        server = try OriginTransport(address: address)
        collection = try server.makeCollection()
    }

    deinit {
        try? FileManager.default.removeItem(at: directory)
    }

    /// The index as JSON.
    func index() throws -> [String: Any] {
        let content = try Data(contentsOf: URL(fileURLWithPath: indexFile))
        return try #require(JSONSerialization.jsonObject(with: content) as? [String: Any])
    }

    /// The collection's entry in the index.
    func entry() throws -> [String: Any] {
        (try index()["collections"] as? [String: Any])?[key] as? [String: Any] ?? [:]
    }

    /// Remote config's entry in the index.
    func kept() throws -> [String: Any]? {
        (try index()["configs"] as? [String: Any])?[collection.id] as? [String: Any]
    }

    private var key: String { "\(collection.id)@\(server.url.dropLast(3))" }

    /// Changes the collection's entry, as an attacker with write access can.
    func changeEntry(_ change: (inout [String: Any]) throws -> Void) throws {
        var entry = try entry()
        try change(&entry)
        try put(entry, as: key, in: "collections")
    }

    private func put(_ value: [String: Any], as key: String, in member: String) throws {
        var index = try index()
        var values = try #require(index[member] as? [String: Any])
        values[key] = value
        index[member] = values
        try JSONSerialization.data(withJSONObject: index).write(to: URL(fileURLWithPath: indexFile), options: .atomic)
    }

    /// Changes remote config's entry.
    func changeState(_ change: (inout [String: Any]) throws -> Void) throws {
        var state = try #require(try kept())
        try change(&state)
        try put(state, as: collection.id, in: "configs")
    }

    /// The activated state's file.
    func activatedFile() throws -> URL {
        let state = try #require((try entry()["activated"] as? [String: Any])?["current"] as? [String: Any])
        return URL(fileURLWithPath: "\(storage)/states/\(try #require(state["file"] as? String))")
    }

    /// Replaces the file of the activated state, and updates the index to match.
    func replaceActivated(by content: String) throws {
        let digest = SHA256Digest(hashing: Bytes(utf8: content)).hex
        try Data(content.utf8).write(to: URL(fileURLWithPath: "\(storage)/states/\(digest)"), options: .atomic)
        try changeEntry { entry in
            var slot = try #require(entry["activated"] as? [String: Any])
            var state = try #require(slot["current"] as? [String: Any])
            let payload = content.split(separator: "\n", maxSplits: 1).last.map(String.init) ?? ""
            let time = try #require(payload.firstMatch(of: #/"last_modified":"([0-9]+)"}$/#)?.output.1)
            state["file"] = digest
            state["size"] = content.utf8.count
            state["payload"] = SHA256Digest(hashing: Bytes(utf8: payload)).hex
            state["timestamp"] = UInt64(time)
            slot["current"] = state
            entry["activated"] = slot
        }
    }

    /// The current time for the code under test.
    var now: Timestamp {
        let real = HTTPEnvironment.system.now().milliseconds
        return world.withLock { Timestamp(milliseconds: UInt64(clamping: Int64($0.frozen ?? real) + $0.offset)) }
    }

    func freeze() { world.withLock { $0.frozen = HTTPEnvironment.system.now().milliseconds } }
    func pass(seconds: Double) { world.withLock { $0.offset += Int64(seconds * 1000) } }
    func pass(hours: Double) { pass(seconds: hours * 3600) }
    func pass(years: Double) { pass(hours: years * 8766) }
    func chance(_ value: Double) { world.withLock { $0.random = value } }

    func config(_ change: (inout RemoteSettingsConfig) -> Void = { _ in }) -> RemoteSettingsConfig {
        var config = server.config
        config.log = { _ in }
        config.environment.now = { [self] in now }
        config.environment.random = { [self] in world.withLock { $0.random } }
        // Timeouts use real time; shorter waits are cut to 2 ms.
        config.environment.sleep = { try await Task.sleep(for: $0 >= .seconds(30) ? $0 : min($0, .milliseconds(2))) }
        change(&config)
        return config
    }

    /// Simulates a newly started process.
    func start(
        interval: Double = 0, perHour: Int = .max, activation: RemoteConfigActivation = .onRequest,
        installationID: String? = nil, _ change: (inout RemoteSettingsConfig) -> Void = { _ in }
    ) -> RemoteConfig {
        RemoteConfig(
            collection: collection.name,
            service: RemoteSettingsService(storageDirectory: storage, config: config(change)),
            settings: RemoteConfigSettings(minimumFetchInterval: interval, fetchesPerHour: perHour),
            activation: activation, installationID: installationID)
    }

    /// Writes a parameter's default record. Its ID is the key.
    func put(_ key: String, _ value: Any) throws { try collection.put(key, ["key": key, "value": value]) }

    func put(_ key: String, _ value: Any, id: String, filter: String, priority: Int = 0) throws {
        try collection.put(id, ["key": key, "value": value, "filter_expression": filter, "priority": priority])
    }

    /// Writes several parameters in one publication, without intermediate states.
    func put(all values: [String: Any]) throws {
        try collection.put(
            all: Dictionary(uniqueKeysWithValues: values.map { ($0.key, ["key": $0.key, "value": $0.value]) }))
    }

    /// Requests for the collection's changeset so far.
    var fetches: Int { server.requests.count { $0.path.contains("/\(collection.name)/changeset") } }
    /// Requests of all kinds so far.
    var requests: Int { server.requests.count }

    /// Packages the current state of the collection, as `rsdump refresh` does.
    func package(as name: String = "dumps") async throws -> PackagedSource {
        let path = directory.appending(path: name).path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        var configuration = DumpsConfiguration()
        configuration.server = server.url
        configuration.collections = [.init(id: try CollectionID(collection.id), attachments: AttachmentRule(.all))]
        let client = ServerClient(
            server: try ServerURL(server.url), transport: server, userAgent: UserAgent(name: "tests", version: "1"))
        let report = try await Refresh(
            DumpsTransaction.begin(in: DumpsDirectory(path)), configuration: configuration, client: client,
            policy: TrustPolicy(roots: server.root), options: .init(), now: HTTPEnvironment.system.now(),
            onEvent: { _ in }
        ).run()
        for outcome in report.outcomes { if let error = outcome.error { throw error } }
        return .directory(path)
    }
}

/// A transport that is always offline.
struct NoNetwork: HTTPTransport {
    func send(_ request: HTTPRequest) async throws(Failure) -> HTTPResponse {
        throw Failure(request.url, .unreachable("this test is offline"))
    }
}

/// A transport whose requests hang, even if cancelled, until `letGo()` is called.
final class HangingTransport: HTTPTransport {
    private let gone = Mutex(false)

    func letGo() { gone.withLock { $0 = true } }

    func send(_ request: HTTPRequest) async throws(Failure) -> HTTPResponse {
        while !gone.withLock({ $0 }) {
            try? await Task.detached { try await Task.sleep(for: .milliseconds(5)) }.value
        }
        throw Failure(request.url, .unreachable("it was let go"))
    }
}

extension RemoteConfig {
    func text(_ key: String) -> String { self[key].stringValue }
}

/// A thread-safe array.
final class Collector<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])

    var all: [Element] { elements.withLock { $0 } }
    func add(_ element: Element) { elements.withLock { $0.append(element) } }

    /// Waits until there are at least `count` elements.
    func has(_ count: Int) async throws {
        for _ in 0..<2000 where all.count < count { try await Task.sleep(for: .milliseconds(5)) }
        try #require(all.count >= count)
    }
}

final class Flag: Sendable {
    private let flag = Mutex(false)

    var isSet: Bool { flag.withLock { $0 } }
    func set() { flag.withLock { $0 = true } }
}
