import Foundation
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing

/// Meant for the thread sanitizer: `scripts/test tsan`.
@Suite struct RemoteSettingsStressTests {
    let place: Workplace

    init() throws { place = try Workplace() }

    /// What the tasks have in common.
    private final class Shared: Sendable {
        let reads = Mutex(0)
        let isDone = Mutex(false)
        /// What was seen that must not be.
        let wrong = Mutex<[String]>([])

        func report(_ text: String) { wrong.withLock { if $0.count < 10 { $0.append(text) } } }

        /// Repeats `work` until the end.
        func untilDone(_ work: () async throws -> Void) async rethrows {
            while !isDone.withLock({ $0 }) {
                try await work()
                await Task.yield()
            }
        }

        /// Every answer is of one whole state: the records of a state all have the same number in them.
        func check(_ records: [RemoteSettingsRecord]?) {
            guard let records else { return report("nil, of a packaged collection") }
            if records.count != 10 || Set(records.map(\.fields)).count != 1 { report("\(records)") }
            reads.withLock { $0 += 1 }
        }
    }

    /// All ten records get the same number at once, so that the server never has two numbers at a time.
    private func write(_ state: Int, to collection: ServerCollection) throws {
        try collection.put((0..<10).map { "r\($0)" }, ["state": state])
    }

    /// Readers, syncs, attachments, streams of changes that are opened and dropped, configuration updates and
    /// resets at once, and a second service on the same directory; then a shutdown in the middle of it.
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
                // Never reset or configured anew itself: it only goes forward.
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
                // Updates, resets and the shutdown end syncs under way.
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
        // Nothing of all that has left the directory in a state that cannot be gone on from.
        let next = place.client(collection)
        try await next.sync()
        #expect(try state(of: next) == collection.state())
    }

    /// Reads are answered, all else fails or ends; nothing waits for ever.
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
