import Foundation
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing

/// Concurrent use, meant to run under the thread sanitizer: `scripts/test tsan`.
@Suite struct RemoteSettingsStressTests {
    let place: Workplace

    init() throws { place = try Workplace() }

    /// State shared by all tasks.
    private final class Shared: Sendable {
        let reads = Mutex(0)
        let isDone = Mutex(false)
        /// The first violations found.
        let wrong = Mutex<[String]>([])

        func report(_ text: String) { wrong.withLock { if $0.count < 10 { $0.append(text) } } }

        /// Repeats `work` until `isDone` is set.
        func untilDone(_ work: () async throws -> Void) async rethrows {
            while !isDone.withLock({ $0 }) {
                try await work()
                await Task.yield()
            }
        }

        /// Checks that the records come from one state: all records of a state contain the same number.
        func check(_ records: [RemoteSettingsRecord]?) {
            guard let records else { return report("nil, of a packaged collection") }
            if records.count != 10 || Set(records.map(\.fields)).count != 1 { report("\(records)") }
            reads.withLock { $0 += 1 }
        }
    }

    /// Writes the same number to all ten records at once, so that the server never serves a mixture.
    private func write(_ state: Int, to collection: ServerCollection) throws {
        try collection.put((0..<10).map { "r\($0)" }, ["state": state])
    }

    /// Runs readers, syncs, attachment downloads, short-lived change streams, configuration updates and resets
    /// concurrently, with a second service on the same directory, then shuts down both services while all are running.
    @Test(.timeLimit(.minutes(10))) func readsSyncsResetsAndUpdatesAtOnce() async throws {
        let collection = try place.collection()
        let files = try place.collection()
        try write(0, to: collection)
        try files.attach(Data("content".utf8), to: "file")
        let dumps = try await place.package([collection, files])
        let service = place.service { $0.packaged = [.directory(dumps)] }
        let client = service.makeClient(collectionName: collection.name)
        let filesClient = service.makeClient(collectionName: files.name)
        let other = place.service { $0.packaged = [.directory(dumps)] }
        let otherClient = other.makeClient(collectionName: collection.name)
        let configs = [
            place.config { $0.packaged = [.directory(dumps)] },
            place.config {
                $0.packaged = [.directory(dumps, trusted: true)]
                $0.appContext = RemoteSettingsContext(channel: "nightly")
            },
        ]
        let shared = Shared()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    await shared.untilDone {
                        shared.check(client.records)
                        if client.recordsByID?.count != 10 { shared.report("a map") }
                        if client.status.recordCount != 10 { shared.report("\(client.status)") }
                    }
                }
            }
            group.addTask {
                // This client is never reset or reconfigured, so its timestamp must never decrease.
                var last: UInt64 = 0
                await shared.untilDone {
                    shared.check(otherClient.records)
                    let timestamp = otherClient.getLastModifiedTimestamp() ?? 0
                    if timestamp < last { shared.report("from \(last) back to \(timestamp)") }
                    last = timestamp
                }
            }
            for stream in [client.changes(), otherClient.changes()] {
                group.addTask { for await changes in stream { shared.check(changes.current) } }
            }
            group.addTask {
                await shared.untilDone {
                    let dropped = client.changes()
                    let listener = Task { for await changes in client.changes() { shared.check(changes.current) } }
                    _ = client.records
                    withExtendedLifetime(dropped) {}
                    listener.cancel()
                    await listener.value
                }
            }
            for syncing in [client, otherClient] {
                // Errors are expected: updates, resets and the shutdown cancel running syncs.
                group.addTask { await shared.untilDone { _ = try? await syncing.sync() } }
            }
            group.addTask { await shared.untilDone { _ = try? await service.syncCollections() } }
            group.addTask {
                try await shared.untilDone {
                    for config in configs {
                        try service.updateConfig(config: config)
                        try await Task.sleep(for: .milliseconds(7))
                    }
                    try? await client.resetStorage()
                }
            }
            group.addTask {
                await shared.untilDone {
                    guard let record = filesClient.records?.first,
                        filesClient.localAttachment(for: record)?.bytes.text == "content"
                    else { return shared.report("no attachment") }
                    _ = try? await filesClient.attachmentFile(for: record)
                    _ = try? await filesClient.downloadAttachments()
                }
            }
            for state in 1...15 { try write(state, to: collection) }
            while shared.reads.withLock({ $0 }) < 300 { try await Task.sleep(for: .milliseconds(5)) }
            service.shutdown()
            other.shutdown()
            shared.isDone.withLock { $0 = true }
            try await group.waitForAll()
        }
        #expect(shared.wrong.withLock { $0 } == [])
        try await afterTheShutdown(service, client, filesClient)
        // The directory is still usable.
        let next = place.client(collection)
        try await next.sync()
        #expect(try state(of: next) == collection.state())
    }

    /// Checks that after a shutdown reads still work, syncs fail and no call hangs.
    private func afterTheShutdown(
        _ service: RemoteSettingsService, _ client: RemoteSettingsClient, _ files: RemoteSettingsClient
    ) async throws {
        #expect(client.records?.count == 10)
        #expect(await client.recordsOrSync()?.count == 10)
        await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
        await #expect(throws: RemoteSettingsError.self) { try await service.sync() }
        await #expect(throws: RemoteSettingsError.self) {
            try await client.sync(expecting: Timestamp(milliseconds: .max))
        }
        for await changes in client.changes() { Issue.record("\(changes)") }
        let absent = service.makeClient(collectionName: "absent")
        #expect(await absent.recordsOrSync() == nil)
        let record = try #require(files.records?.first)
        #expect(try await files.getAttachment(record: record) == Data("content".utf8))
        try await client.resetStorage()
        service.shutdown()
        try service.updateConfig(config: place.config())
        await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
    }
}
