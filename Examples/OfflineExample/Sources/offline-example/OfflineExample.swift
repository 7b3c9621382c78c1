import RemoteSettings

/// Prints the records that it was built with. It needs no file beside it, no network and no Foundation of its own.
@main
enum OfflineExample {
    static func main() throws {
        // What dumps/dumps.yaml says of the server and whom it trusts.
        let config = RemoteSettingsConfig(
            server: .custom(url: "http://127.0.0.1:8888/v1"), packaged: [try .ofEmbeddedDumps()],
            trustRoots: try TrustAnchors(parsing: ["5818235eb231115e79222218da42beb14420c474a3862cc809136801f9fcec63"]))
        let storage = CommandLine.arguments.dropFirst().first ?? "offline-example-storage"
        let service = try RemoteSettingsService(storageDir: storage, validating: config)
        for name in ["regions", "search-hints"] {
            let client = service.makeClient(collectionName: name)
            guard let records = client.getRecords() else {
                print("\(client.snapshot)")
                continue
            }
            print("\(name): \(records.count) records, \(client.snapshot.source)")
            for record in records { print("  \(record.id) \(record.fields)") }
        }
    }
}
