// A process for tests that share a storage directory: repeatedly syncs and reads a collection, each time like a newly
// started process, and prints what it read.
//
//     test-process storage STORAGE SERVER ROOT COLLECTION ROUNDS
//
// Prints a line for each round, `<timestamp> <records>`, and exits with 1 if anything failed. With SAFE_START in its
// environment, starts are counted; each round then reads and marks its start as successful before it syncs. With 0
// rounds, it reads once, does not mark the start, and prints what it read.

import Foundation
import RemoteSettings

enum StorageProcess {
    static func run(_ arguments: [String]) async throws {
        guard arguments.count == 6, let rounds = Int(arguments[5]) else {
            print("usage: test-process storage STORAGE SERVER ROOT COLLECTION ROUNDS")
            exit(2)
        }
        var config = RemoteSettingsConfig(
            server: .custom(url: arguments[2]), trustRoots: try TrustAnchors(parsing: [arguments[3]]))
        config.log = { _ in }
        config.usesSafeStart = ProcessInfo.processInfo.environment["SAFE_START"] != nil

        /// The test server writes a record before it signs: a response in between has no valid signature and is
        /// correctly rejected. Under many writes, the server sometimes responds with 409. In both cases, the sync is
        /// retried.
        func sync(_ client: RemoteSettingsClient) async throws(RemoteSettingsError) {
            for attempt in 1...50 {
                do throws(RemoteSettingsError) {
                    try await client.sync()
                    return
                } catch {
                    let isServersOwn = "\(error)".contains("signature") || "\(error)".contains("answered 409")
                    guard isServersOwn, attempt < 50 else { throw error }
                }
            }
        }

        var last: UInt64 = 0
        for _ in 0..<rounds {
            let service = RemoteSettingsService(storageDirectory: arguments[1], config: config)
            let client = service.makeClient(collectionName: arguments[4])
            do {
                if config.usesSafeStart {
                    _ = client.records
                    try service.markStartSuccessful()
                }
                try await sync(client)
            } catch {
                print("sync failed: \(error)")
                exit(1)
            }
            guard let records = client.records, let timestamp = client.getLastModifiedTimestamp() else {
                print("nothing is held: \(client.status)")
                exit(1)
            }
            guard timestamp >= last else {
                print("went back from \(last) to \(timestamp)")
                exit(1)
            }
            last = timestamp
            print(timestamp, records.count)
        }
        if rounds == 0 {
            let client = RemoteSettingsService(storageDirectory: arguments[1], config: config)
                .makeClient(collectionName: arguments[4])
            let count = client.records?.count ?? 0
            print(client.getLastModifiedTimestamp() ?? 0, count)
        }
    }
}
