#if Lab
import CurlTransport
import Foundation
import RemoteSettings
import RemoteSettingsModel

/// Syncs from the packaged state, and reads by several threads while syncs run.
struct SyncRows {
    let dumps: PackagedDumps
    let seconds: Int

    func text() async throws -> String {
        let transport = CurlTransport()
        return try await deltas(transport) + "\n" + scaling(transport)
    }

    /// The server is one change ahead of the dumps.
    private func deltas(_ transport: CurlTransport) async throws -> String {
        let clock = ContinuousClock()
        var times: [Duration] = []
        for _ in 0..<11 {
            let folder = FileManager.default.temporaryDirectory.appending(path: "rsbench-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }
            let client = try client(transport, storage: folder.path)
            guard client.getRecords() != nil else { throw BenchmarkError("\(client.status)") }
            let start = clock.now
            try await client.sync()
            times.append(clock.now - start)
            guard client.status.source == .cached else { throw BenchmarkError("nothing changed on the server") }
        }
        let sorted = times.dropFirst().sorted()
        let numbers = [sorted[0], sorted[sorted.count / 2]].map { Table.text($0.milliseconds, digits: 1) }
        return """
            ### Delta sync of one change in \(dumps.entry.records) records, in process, first look at the packaged state done

            | | ms, min / median |
            | --- | --- |
            | `sync()`: monitor, delta, chain, merged, verified, stored and flushed | \(numbers[0]) / \(numbers[1]) |

            """
    }

    private func client(_ transport: CurlTransport, storage: String) throws -> RemoteSettingsClient {
        var config = try dumps.config([.directory(dumps.path)])
        config.transport = transport
        return RemoteSettingsService(storageDir: storage, config: config).makeClient(collectionName: "\(dumps.id)")
    }

    /// Each sync stores: what was stored is removed before the next, so that the packaged state is where it starts
    /// from.
    private func scaling(_ transport: CurlTransport) async throws -> String {
        var lines = [
            "### `getRecords` by several threads, each read of \(dumps.entry.records) records and a look at the cache file",
            "", "| threads | reads a second | while syncs run | syncs in \(seconds) s |", "| --- | --- | --- | --- |",
        ]
        for threads in [1, 2, 4] {
            let folder = FileManager.default.temporaryDirectory.appending(path: "rsbench-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }
            let client = try client(transport, storage: folder.path)
            _ = client.getRecords()
            let alone = try await reads(by: threads, of: client) { try await Task.sleep(for: .seconds(seconds)) }
            let syncs = Atomic(0)
            let during = try await reads(by: threads, of: client) {
                let end = ContinuousClock.now + .seconds(seconds)
                while ContinuousClock.now < end {
                    try await client.resetStorage()
                    try await client.sync()
                    syncs.add(1, ordering: .relaxed)
                }
            }
            let counts = [alone, during].map { Table.text(Double($0) / Double(seconds), digits: 0) }
            lines.append("| \(threads) | \(counts[0]) | \(counts[1]) | \(syncs.load(ordering: .relaxed)) |")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// How often threads of their own read while `work` runs.
    private func reads(
        by threads: Int, of client: RemoteSettingsClient, during work: () async throws -> Void
    ) async throws -> Int {
        let shared = Readers()
        for _ in 0..<threads {
            Thread.detachNewThread {
                while !shared.isDone.load(ordering: .relaxed) {
                    if client.getRecords()?.isEmpty != false { shared.failures.add(1, ordering: .relaxed) }
                    shared.reads.add(1, ordering: .relaxed)
                }
            }
        }
        do {
            try await work()
        } catch {
            shared.isDone.store(true, ordering: .relaxed)
            throw error
        }
        shared.isDone.store(true, ordering: .relaxed)
        let failures = shared.failures.load(ordering: .relaxed)
        guard failures == 0 else { throw BenchmarkError("\(failures) reads found nothing") }
        return shared.reads.load(ordering: .relaxed)
    }

    private final class Readers: Sendable {
        let reads = Atomic(0)
        let failures = Atomic(0)
        let isDone = Atomic(false)
    }
}
#endif
