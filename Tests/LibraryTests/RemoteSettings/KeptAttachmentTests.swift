import Foundation
import RemoteSettingsTesting
import Testing

/// Keeping, removing and pruning attachments, and earlier versions that replace missing ones.
@Suite struct KeptAttachmentTests {
    let place: Workplace

    init() throws { place = try Workplace() }

    private func files(_ collection: ServerCollection) -> Set<String> {
        Set((try? FileManager.default.contentsOfDirectory(atPath: place.attachments(collection))) ?? [])
    }

    @Test func removedAttachmentIsNotStored() async throws {
        let (collection, client) = try await place.synced(attaching: ["a": "file a", "b": "file b"])
        let record = try client.record("a")
        #expect(!client.isAttachmentStored(for: record))
        try client.removeAttachment(for: record)
        _ = try await client.getAttachment(record: record)
        #expect(client.isAttachmentStored(for: record))
        let file = "\(place.attachments(collection))/\(try #require(record.attachment?.hash))"
        try Data("FILE A".utf8).write(to: URL(fileURLWithPath: file))
        #expect(!client.isAttachmentStored(for: record))
        _ = try await client.getAttachment(record: record)
        try client.removeAttachment(for: record)
        #expect(!client.isAttachmentStored(for: record) && client.localAttachment(for: record) == nil)
        let without = RemoteSettingsRecord(id: "x", lastModified: 1)
        #expect(!client.isAttachmentStored(for: without))
        #expect(throws: RemoteSettingsError.self) { try client.removeAttachment(for: without) }
        #expect(throws: RemoteSettingsError.self) { try client.keepAttachment(for: without) }
    }

    /// On a case-insensitive file system, both would share a directory, and a sync of one collection would remove the
    /// attachments of the other.
    @Test func collectionsThatDifferInCaseShareNoDirectory() async throws {
        for id in ["main/Fonts", "main/fonts"] {
            let collection = try place.server.makeCollection(id: id)
            try collection.attach(Data(id.utf8), to: "a")
            let client = place.service().makeClient(collectionName: id)
            try await client.sync()
            _ = try await client.getAttachment(record: try client.record("a"))
            #expect(client.isAttachmentStored(for: try client.record("a")))
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: "\(place.storage)/attachments/main")
        #expect(Set(names.map { $0.lowercased() }).count == 2)
    }

    @Test func keptAttachmentSurvivesDeletedRecord() async throws {
        let (collection, client) = try await place.synced(attaching: ["a": "file a", "b": "file b", "c": "file c"])
        _ = try await client.downloadAttachments()
        let (kept, other) = (try client.record("a"), try client.record("b"))
        try client.keepAttachment(for: kept)
        try client.keepAttachment(for: kept)
        collection.delete("a")
        collection.delete("b")
        // Another process syncs, then this one syncs again.
        let later = place.client(collection)
        try await later.sync()
        #expect(later.isAttachmentStored(for: kept) && !later.isAttachmentStored(for: other))
        try collection.put("d")
        try await client.sync()
        #expect(try client.pruneAttachments() == 0)
        #expect(try await client.getAttachment(record: kept) == Data("file a".utf8))
        try client.removeAttachment(for: kept)
        #expect(!client.isAttachmentStored(for: kept))
        #expect(files(collection) == [try #require(client.record("c").attachment?.hash)])
        try client.keepAttachment(for: client.record("c"))
        try await client.resetStorage()
        #expect(files(collection).isEmpty)
    }

    /// An attacker has replaced the directory with a symbolic link.
    @Test func attachmentDirectoryLinkIsRefused() async throws {
        let (collection, client) = try await place.synced(attaching: ["a": "file a"])
        let record = try client.record("a")
        let hash = try #require(record.attachment?.hash)
        let outside = place.path("outside")
        for name in [hash, String(repeating: "0", count: 64)] { try place.write("x", to: "outside/\(name)") }
        try FileManager.default.createDirectory(
            atPath: "\(place.storage)/attachments/main", withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: place.attachments(collection), withDestinationPath: outside)
        try client.keepAttachment(for: record)
        #expect(throws: RemoteSettingsError.self) { try client.removeAttachment(for: record) }
        #expect(try client.pruneAttachments() == 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: outside).count == 2)
    }

    @Test func pruneRemovesUnreferencedAttachments() async throws {
        let (collection, client) = try await place.synced(attaching: ["a": "file a", "b": "file b"])
        _ = try await client.downloadAttachments()
        #expect(try client.pruneAttachments() == 0)
        let foreign = String(repeating: "0", count: 64)
        let directory = URL(fileURLWithPath: place.attachments(collection))
        try Data("x".utf8).write(to: directory.appending(path: foreign))
        // The earlier version of "a" is stored as a fallback for the new one until it is pruned.
        let old = try client.record("a")
        try collection.attach(Data("new".utf8), to: "a")
        try await client.sync()
        #expect(client.isAttachmentStored(for: old))
        #expect(!files(collection).contains(foreign))
        try Data("x".utf8).write(to: directory.appending(path: foreign))
        #expect(try client.pruneAttachments() == 2)
        #expect(!client.isAttachmentStored(for: old))
        #expect(files(collection) == [try #require(client.record("b").attachment?.hash)])
        let empty = place.service().makeClient(collectionName: "nothing")
        #expect(try empty.pruneAttachments() == 0)
    }
}
