import Foundation
import RemoteSettingsHTTP
import RemoteSettingsModel
import RemoteSettingsTesting
import SnapshotBundle
import Testing

/// An app that fails to start with a correctly signed state falls back to one that works.
@Suite struct RemoteSettingsSafeStartTests {
    let place: Workplace
    let collection: ServerCollection

    init() throws {
        place = try Workplace()
        collection = try place.collection()
    }

    private var indexFile: String { "\(place.storage)/index.json" }

    private func start(
        _ change: (inout RemoteSettingsConfig) -> Void = { _ in }
    ) -> (service: RemoteSettingsService, client: RemoteSettingsClient) {
        let service = place.service {
            $0.usesSafeStart = true
            change(&$0)
        }
        return (service, service.makeClient(collectionName: collection.name))
    }

    /// The number that the app reads when it starts; `nil` if there are no records.
    private func number(_ client: RemoteSettingsClient) -> Int? {
        client.records?.first?[field: "n"]?.number?.int64.map { Int($0) }
    }

    /// Simulates a start: the app crashes at once if the number is 0, otherwise it starts successfully and syncs.
    @discardableResult
    private func live(_ change: (inout RemoteSettingsConfig) -> Void = { _ in }) async throws -> Int? {
        let (service, client) = start(change)
        let found = number(client)
        guard found != 0 else { return 0 }
        try service.markStartSuccessful()
        _ = try? await client.sync()
        return found
    }

    private func publish(_ number: Int) throws { try collection.put("r", ["n": number]) }

    /// Starts successfully with the good state 24, then stores the poisoned state 0.
    private func poison() async throws {
        try publish(24)
        try await live()
        try await live()
        try publish(0)
        try await live()
    }

    @Test func safeStartFallsBackAfterThreeBadStarts() async throws {
        try await poison()
        for _ in 0..<3 { #expect(try await live() == 0) }
        #expect(try await live() == 24)
        let (_, client) = start()
        #expect(number(client) == 24)
        #expect(client.status.source == .cached)
        #expect("\(client.status.unused)".contains("(3 attempts)"))
        // The rejected state is not fetched again.
        let asked = place.server.requests.count
        await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
        #expect(place.server.requests.count == asked + 1)
        try publish(12)
        try await client.sync()
        #expect(number(client) == 12)
        #expect(place.server.requests.last?.path.contains("_since") == true, "the sync should request a delta")
        #expect(try await live() == 12)
    }

    @Test func safeStartFallsBackToPackagedState() async throws {
        try publish(7)
        let packaged = try place.server.packaged(collection)
        try publish(0)
        let first = start { $0.packaged = [packaged] }
        try await first.client.sync()
        for _ in 0..<3 { #expect(try await live { $0.packaged = [packaged] } == 0) }
        #expect(try await live { $0.packaged = [packaged] } == 7)
        let (_, client) = start { $0.packaged = [packaged] }
        #expect(number(client) == 7 && client.status.source == .packaged("packaged in this test"))
    }

    @Test func safeStartWithoutFallbackHasNoRecords() async throws {
        try publish(0)
        try await start().client.sync()
        for _ in 0..<3 { #expect(try await live() == 0) }
        #expect(try await live() == nil)
        try publish(5)
        try await start().client.sync()
        #expect(try await live() == 5)
    }

    /// A good stored state replaces a bad packaged one. Without a good one, the bad one is better than no records.
    @Test func safeStartSkipsBadPackagedState() async throws {
        try publish(24)
        try await live()
        try await live()
        try publish(0)
        let packaged = try place.server.packaged(collection)
        let offline: (inout RemoteSettingsConfig) -> Void = {
            ($0.packaged, $0.transport) = ([packaged], NoTransport())
        }
        for _ in 0..<3 { #expect(try await live(offline) == 0) }
        #expect(try await live(offline) == 24)
        try FileManager.default.removeItem(at: place.files.file(collection.id))
        #expect(try await live(offline) == 0, "getRecords is never nil for a packaged collection")
    }

    @Test func rollbackAndRejectStateByTheApp() async throws {
        try publish(1)
        try await live()
        let (service, client) = start()
        #expect(number(client) == 1)
        #expect(throws: RemoteSettingsError.self) { try client.rollback() }
        #expect(number(client) == 1)
        try publish(2)
        try await client.sync()
        #expect(number(client) == 2)
        let changes = client.changes()
        try client.rollback()
        #expect(number(client) == 1)
        var iterator = changes.makeAsyncIterator()
        #expect(await iterator.next()?.current.first?[field: "n"]?.number?.int64 == 1)
        try service.markStartSuccessful()
        #expect(number(start().client) == 1)
        await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
        try publish(3)
        try await client.sync()
        #expect(number(client) == 3)
        try client.rejectState()
        #expect(number(client) == 1)
        #expect("\(client.status.unused)".contains("the app rejected it"))
        #expect(number(start().client) == 1)
    }

    @Test func rollbackNeedsSafeStart() async throws {
        try publish(1)
        let client = place.client(collection)
        try await client.sync()
        try publish(2)
        try await client.sync()
        #expect(throws: RemoteSettingsError.self) { try client.rollback() }
        #expect(throws: RemoteSettingsError.self) { try client.rejectState() }
        try place.service().markStartSuccessful()
        #expect(number(client) == 2)
        #expect(place.files.states.count == 1)
    }

    /// Attachments of the previous state are kept for a rollback.
    @Test func safeStartKeepsPreviousAttachments() async throws {
        try collection.attach(Data("old".utf8), to: "r")
        let (service, client) = start()
        try await client.sync()
        _ = client.records
        try service.markStartSuccessful()
        let record = try #require(client.records?.first)
        #expect(try await client.attachment(for: record).bytes == Bytes(utf8: "old"))
        let later = start()
        _ = later.client.records
        try later.service.markStartSuccessful()
        try collection.attach(Data("new".utf8), to: "r")
        try await later.client.sync()
        let new = try #require(later.client.records?.first)
        #expect(try await later.client.attachment(for: new).bytes == Bytes(utf8: "new"))
        _ = try later.client.pruneAttachments()
        try later.client.rollback()
        let offline = start { $0.transport = NoTransport() }.client
        let back = try #require(offline.records?.first)
        #expect(try await offline.attachment(for: back).bytes == Bytes(utf8: "old"))
    }

    // MARK: Attacks

    /// Whatever the index contains, the app can read records, and the good state is not lost.
    @Test(arguments: ["", "{", "\u{0}\u{0}", #"{"failedStarts":99999999999999999999}"#, "directory", "link", "huge"])
    func safeStartSurvivesDamagedIndex(_ content: String) async throws {
        try await poison()
        for _ in 0..<3 { #expect(try await live() == 0) }
        try FileManager.default.removeItem(atPath: indexFile)
        switch content {
        case "directory": try FileManager.default.createDirectory(atPath: indexFile, withIntermediateDirectories: true)
        case "link": try FileManager.default.createSymbolicLink(atPath: indexFile, withDestinationPath: "/dev/zero")
        case "huge": try Data(repeating: UInt8(ascii: "["), count: 1 << 20).write(to: URL(filePath: indexFile))
        default: try Data(content.utf8).write(to: URL(filePath: indexFile))
        }
        let found = try await live()
        #expect(found == 0 || found == 24)
        // The good state still exists, and the repaired one is accepted.
        #expect(place.files.states.count >= 2)
        try publish(12)
        _ = try? await start().client.sync()
        #expect(try await live() == 12)
    }

    /// If a start cannot be counted, an unproven state is not used while there is another one.
    @Test func safeStartAvoidsTrialIfStorageIsLocked() async throws {
        try await poison()
        let lock = try #require(try DirectoryLock(place.storage))
        let (_, client) = start()
        #expect(number(client) == 24)
        withExtendedLifetime(lock) {}
    }

    @Test func safeStartCountsStartsOfTwoProcesses() async throws {
        try await poison()
        // An app and its widget start at the same time, and neither reports success.
        let (app, widget) = (start(), start())
        #expect(number(app.client) == 0 && number(widget.client) == 0)
        #expect(try await live() == 0)
        #expect(try await live() == 24)
        // The widget did start successfully, but reports it late.
        try widget.service.markStartSuccessful()
        #expect(number(start().client) == 0)
    }

    /// If the file of the previous good state is damaged, only packaged data can replace it, never unverified data.
    @Test func safeStartWithDamagedPreviousState() async throws {
        try await poison()
        for _ in 0..<3 { #expect(try await live() == 0) }
        try place.files.damage(collection.id, \.synced.previous)
        #expect(try await live() == nil)
        try publish(12)
        try await start().client.sync()
        #expect(try await live() == 12)
    }
}
