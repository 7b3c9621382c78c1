#if Lab
import Dumps
import Foundation
import RemoteConfiguration
import RemoteSettingsHTTP
import RemoteSettingsModel
import RemoteSettingsTesting
import SnapshotBundle

/// Remote config over a collection of 2,000 parameters, one in ten with a condition, that this process serves and
/// signs.
struct ConfigRows {
    private static let count = 2000
    private static let changed = 1000

    let runs: Int
    private let folder = FileManager.default.temporaryDirectory.appending(path: "rsbench-\(UUID().uuidString)")
    private let server: OriginTransport
    private let collection: ServerCollection

    init(runs: Int) throws {
        self.runs = runs
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        server = try OriginTransport()
        collection = try server.makeCollection()
        try write(Self.count, state: 0)
    }

    private func write(_ count: Int, state: Int) throws {
        try collection.put(
            all: Dictionary(
                uniqueKeysWithValues: (0..<count).map { number in
                    var fields: [String: Any] = [
                        "key": "parameter_\(number)", "value": "value \(state) of parameter \(number)",
                        "description": "what people say about it",
                    ]
                    if number % 10 == 0 {
                        fields["filter_expression"] = "[env.id, 'rollout \(number % 7)']|bucketSample(0, 50, 100)"
                    }
                    return ("p\(number)", fields)
                }))
    }

    private func config(_ storage: String, _ packaged: [PackagedSource]) -> (RemoteConfig, RemoteSettingsClient) {
        var config = RemoteSettingsConfig(
            server: .custom(url: server.url), packaged: packaged, trustRoots: server.root)
        config.transport = server
        config.log = { _ in }
        let service = RemoteSettingsService(storageDir: storage, config: config)
        return (
            RemoteConfig(
                collection: collection.name, service: service,
                settings: RemoteConfigSettings(minimumFetchInterval: 0, fetchesPerHour: .max)),
            service.makeClient(collectionName: collection.name)
        )
    }

    /// Packages the collection as `rsdump refresh` does.
    private func package() async throws -> String {
        let path = folder.appending(path: "dumps").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        var configuration = DumpsConfiguration()
        configuration.server = server.url
        configuration.collections = [
            .init(id: try CollectionID(collection.id), attachments: AttachmentRule(.all))
        ]
        let client = ServerClient(
            server: try ServerURL(server.url), transport: server, userAgent: UserAgent(name: "rsbench", version: "1"))
        _ = try await Refresh(
            DumpsDirectory(path), configuration: configuration, client: client,
            policy: TrustPolicy(roots: server.root), options: .init(), now: HTTPEnvironment.system.now(),
            onEvent: { _ in }
        ).run()
        return path
    }

    func table() async throws -> Table {
        defer { try? FileManager.default.removeItem(at: folder) }
        var table = Table("Remote config: \(Self.count) parameters, in process")
        let packaged = [PackagedSource.directory(try await package(), trusted: true)]
        let storage = folder.appending(path: "storage").path
        let (none, reader) = (folder.appending(path: "none").path, "parameter_1")
        func value(_ config: RemoteConfig, _ key: String) throws -> String {
            let value = config[key]
            guard value.source == .remote || value.source == .packaged else {
                throw BenchmarkError(config.status.description)
            }
            return value.stringValue
        }
        table.add(
            "records alone: first `getRecords`, packaged",
            try Measurement(runs: runs) {
                guard let records = config(none, packaged).1.getRecords() else { throw BenchmarkError("no records") }
                return records.count
            })
        table.add(
            "first value, packaged", try Measurement(runs: runs) { try value(config(none, packaged).0, reader) },
            goal: "≤ 1 ms more")
        let (active, client) = config(storage, packaged)
        try write(Self.changed, state: 1)
        try await active.fetchAndActivate()
        guard client.getRecords() != nil else { throw BenchmarkError("no records") }
        table.add(
            "records alone: first `getRecords`, cached, verified",
            try Measurement(runs: runs) {
                guard let records = config(storage, []).1.getRecords() else { throw BenchmarkError("no records") }
                return records.count
            })
        table.add(
            "first value, active, verified", try Measurement(runs: runs) { try value(config(storage, []).0, reader) },
            goal: "≤ 1 ms more")
        let reads = 100_000
        table.add(
            "\(reads) reads of a text",
            try Measurement(runs: runs) { for _ in 0..<reads { _ = try value(active, reader) } }, goal: "≤ 20 ms")
        table.add(
            "\(reads) reads of a text, from a snapshot",
            Measurement(runs: runs) {
                let values = active.snapshot()
                for _ in 0..<reads { _ = values[reader].stringValue }
            })
        var times: [Duration] = []
        for run in 0..<runs {
            try write(Self.changed, state: run + 2)
            try await active.fetch()
            let start = ContinuousClock.now
            guard try await active.activate() else { throw BenchmarkError("nothing changed") }
            times.append(ContinuousClock.now - start)
        }
        table.add("activation of \(Self.changed) changed keys, stored and flushed", times, goal: "≤ 5 ms")
        return table
    }

    /// Bytes that a remote config and its values take, after each key was read; `nil` if the system does not say.
    func memory() async throws -> String? {
        defer { try? FileManager.default.removeItem(at: folder) }
        let storage = folder.appending(path: "storage").path
        try await config(storage, []).0.fetchAndActivate()
        guard let before = Self.used else { return nil }
        // Several, as the first ones are given memory that was freed before.
        let copies = (0..<20).map { _ in config(storage, []) }
        for (active, _) in copies {
            for number in 0..<Self.count { _ = active["parameter_\(number)"].stringValue }
        }
        let after = Self.used ?? before
        withExtendedLifetime(copies) {}
        let size = (after - before) / 1024 / copies.count
        return "Memory of \(Self.count) parameters, each of them read: \(size) KiB (goal: ≤ 2048 KiB)\n"
    }

    /// Bytes of memory that this process has written to; `nil` if the system does not say.
    private static var used: Int? {
        guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix("RssAnon:") })
        else { return nil }
        return line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }.map { $0 * 1024 }
    }
}
#endif
