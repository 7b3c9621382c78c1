import RemoteSettings
import RemoteSettingsModel
import SnapshotBundle

/// Apps that share a storage directory and a directory of packaged snapshots that is not trusted.
struct SoakApps {
    private let storage: String
    private let config: RemoteSettingsConfig

    init(storage: String, dumps: String, server: String, root: String) throws {
        self.storage = storage
        var config = RemoteSettingsConfig(
            server: .custom(url: server), packaged: [.directory(dumps)], trustRoots: try TrustAnchors(parsing: [root]))
        config.allowsPlainHTTP = true
        config.limits.all.tries = 1
        config.log = { _ in }
        self.config = config
    }

    /// Starts apps one after another. Each reads everything like a newly started process: nothing is kept from the
    /// previous one.
    func run(starts: Int, syncPercent: Int, seed: UInt64) async throws {
        var random = seed
        for _ in 0..<starts {
            // Knuth's random numbers, so that a seed always gives the same run.
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let service = RemoteSettingsService(storageDirectory: storage, config: config)
            let clients = SoakAuthor.names.map { service.makeClient(collectionName: "main/\($0)") }
            for client in clients { Self.report(client) }
            guard random >> 33 % 100 < UInt64(syncPercent) else { continue }
            await Self.sync(service, clients)
        }
    }

    /// Runs a single app that is never restarted.
    func reside() async throws {
        let service = RemoteSettingsService(storageDirectory: storage, config: config)
        let clients = SoakAuthor.names.map { service.makeClient(collectionName: "main/\($0)") }
        while readLine() != nil {
            for client in clients { Self.report(client) }
            await Self.sync(service, clients)
            say("done")
        }
    }

    private static func sync(_ service: RemoteSettingsService, _ clients: [RemoteSettingsClient]) async {
        for client in clients {
            do throws(RemoteSettingsError) {
                try await client.sync()
                say("synced")
            } catch {
                say("failed \("\(error)".split(separator: "\n").first ?? "")")
            }
            report(client)
            for record in client.records ?? [] where record.attachment != nil && record.id.hasSuffix("7") {
                guard let content = client.localAttachment(for: record) else { continue }
                if content.bytes.count != record.attachment.map({ Int($0.size) }) {
                    say("wrong attachment of \(record.id)")
                }
            }
        }
    }

    private static func report(_ client: RemoteSettingsClient) {
        guard let records = client.records, let timestamp = client.getLastModifiedTimestamp() else {
            say("none \(client.collectionName): \(client.status.unused.map { "\($0)" }.joined(separator: "; "))")
            return
        }
        var hasher = ContentHasher()
        func add(_ text: String) { Bytes(utf8: text).withSpan { hasher.update($0) } }
        add(#"{"data":["#)
        for (index, record) in records.enumerated() {
            if index > 0 { add(",") }
            record.json.withSpan { hasher.update($0) }
        }
        add(#"],"last_modified":"\#(timestamp)"}"#)
        say("\(client.status.collection) \(timestamp) \(hasher.finish())")
    }
}
