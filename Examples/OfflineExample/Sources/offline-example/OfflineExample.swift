import RemoteSettings

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Prints the embedded records, without a file or a network. If you specify a server, it then syncs with that server, and
/// prints the changes.
///
///     offline-example [STORAGE [SERVER TRUST_ROOT]]
///
/// STORAGE is a directory for the data of syncs. SERVER is a base URL such as http://127.0.0.1:8888/v1. TRUST_ROOT is
/// the SHA-256 of the server's root certificate. If the packaged snapshots are of the same server, the sync fetches
/// only newer data. To see that, put the server's dumps into `dumps` and build again.
@main
enum OfflineExample {
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count != 2, arguments.count <= 3 else {
            print("usage: offline-example [STORAGE [SERVER TRUST_ROOT]]")
            exit(2)
        }
        do {
            try await run(arguments)
        } catch {
            print("offline-example: \(error)")
            exit(1)
        }
    }

    static func run(_ arguments: [String]) async throws {
        let storage = arguments.first ?? "offline-example-storage"
        // The server and the root are those in the lock file.
        var config = RemoteSettingsConfig(
            server: .custom(url: "http://127.0.0.1:8888/v1"), packaged: [.embeddedDumps],
            trustRoots: try TrustAnchors(parsing: ["ccdf64636a96267c548a23ef0a783a312920e2463a5804b3f4e865e79e575b71"]))
        guard arguments.count == 3 else {
            printRecords(try RemoteSettingsService(storageDirectory: storage, validating: config))
            return
        }
        config.server = .custom(url: arguments[1])
        config.trustRoots = try TrustAnchors(parsing: [arguments[2]])
        let service = RemoteSettingsService(storageDirectory: storage, config: config)
        let clients = printRecords(service)
        try await sync(service, clients)
    }

    /// Reads the records, without the network.
    @discardableResult
    static func printRecords(_ service: RemoteSettingsService) -> [RemoteSettingsClient] {
        ["markets", "search-hints"].map { name in
            let client = service.makeClient(collectionName: name)
            let snapshot = client.status
            if let records = client.records {
                print("\(name): \(records.count) records, \(snapshot.source)")
                for record in records { print("  \(record.id) \(record.fields)") }
            } else {
                print("\(name): no records")
            }
            for unused in snapshot.unused { print("  \(unused)") }
            return client
        }
    }

    static func sync(_ service: RemoteSettingsService, _ clients: [RemoteSettingsClient]) async throws {
        let streams = clients.map { ($0.collectionName, $0.changes()) }
        print("sync with \(service.serverURL)")
        for result in try await service.syncCollections() { print(result) }
        // This ends the streams, which have received all changes.
        service.shutdown()
        for (name, stream) in streams {
            var isUnchanged = true
            for await changes in stream {
                isUnchanged = false
                print(
                    "\(name): \(changes.created.count) created, \(changes.updated.count) updated, "
                        + "\(changes.deleted.count) deleted, \(changes.current.count) records now")
                for record in changes.created { print("  created \(record.id) \(record.fields)") }
                for update in changes.updated { print("  updated \(update.new.id) \(update.new.fields)") }
                for record in changes.deleted { print("  deleted \(record.id)") }
            }
            if isUnchanged { print("\(name): the same records as before") }
        }
    }
}
