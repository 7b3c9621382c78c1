import Foundation
import RemoteSettings
import RemoteSettingsTesting
import Testing

/// Attachments that are kept, deleted and pruned, and those that stand in for others.
@Suite struct KeptAttachmentTests {
    let place: Workplace

    init() throws { place = try Workplace() }

    private func files(_ collection: ServerCollection) -> Set<String> {
        Set((try? FileManager.default.contentsOfDirectory(atPath: place.attachments(collection))) ?? [])
    }

    private func synced(_ ids: [String]) async throws -> (ServerCollection, RemoteSettingsClient) {
        let collection = try place.server.makeCollection()
        for id in ids { try collection.attach(Data("file \(id)".utf8), to: id) }
        let client = place.service().makeClient(collectionName: collection.name)
        try await client.sync()
        return (collection, client)
    }

    private func record(_ id: String, of client: RemoteSettingsClient) throws -> RemoteSettingsRecord {
        try #require(client.recordsByID?[id])
    }

    @Test func downloadedAndDeleted() async throws {
        let (collection, client) = try await synced(["a", "b"])
        let record = try record("a", of: client)
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

    /// On a file system that ignores case, the files of both would be in one directory, and a sync of one would remove
    /// those of the other.
    @Test func collectionsThatDifferInCaseShareNoDirectory() async throws {
        for id in ["main/Fonts", "main/fonts"] {
            let collection = try place.server.makeCollection(id: id)
            try collection.attach(Data(id.utf8), to: "a")
            let client = place.service().makeClient(collectionName: id)
            try await client.sync()
            _ = try await client.getAttachment(record: try record("a", of: client))
            #expect(client.isAttachmentStored(for: try record("a", of: client)))
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: "\(place.storage)/attachments/main")
        #expect(Set(names.map { $0.lowercased() }).count == 2)
    }

    @Test func packagedAttachmentIsNotStored() async throws {
        let collection = try place.server.makeCollection()
        try collection.attach(Data("file".utf8), to: "a")
        let dumps = try await place.package([collection])
        let client = place.service { $0.packaged = [.directory(dumps)] }.makeClient(collectionName: collection.name)
        let record = try record("a", of: client)
        #expect(client.localAttachment(for: record) != nil)
        #expect(!client.isAttachmentStored(for: record))
    }

    @Test func keptAttachmentSurvivesDeletedRecord() async throws {
        let (collection, client) = try await synced(["a", "b", "c"])
        _ = try await client.downloadAttachments()
        let (kept, other) = (try record("a", of: client), try record("b", of: client))
        try client.keepAttachment(for: kept)
        try client.keepAttachment(for: kept)
        collection.delete("a")
        collection.delete("b")
        // Another process syncs, and later this one does again.
        let later = place.service().makeClient(collectionName: collection.name)
        try await later.sync()
        #expect(later.isAttachmentStored(for: kept) && !later.isAttachmentStored(for: other))
        try collection.put("d")
        try await client.sync()
        #expect(try client.pruneAttachments() == 0)
        #expect(try await client.getAttachment(record: kept) == Data("file a".utf8))
        try client.removeAttachment(for: kept)
        #expect(!client.isAttachmentStored(for: kept))
        #expect(files(collection) == [try #require(record("c", of: client).attachment?.hash)])
        try client.keepAttachment(for: record("c", of: client))
        try await client.resetStorage()
        #expect(files(collection).isEmpty)
    }

    /// Somebody has put a link in the place of the directory.
    @Test func attachmentDirectoryLinkIsRefused() async throws {
        let (collection, client) = try await synced(["a"])
        let record = try record("a", of: client)
        let hash = try #require(record.attachment?.hash)
        let outside = place.path("outside")
        try FileManager.default.createDirectory(atPath: outside, withIntermediateDirectories: true)
        for name in [hash, String(repeating: "0", count: 64)] {
            try Data("x".utf8).write(to: URL(fileURLWithPath: "\(outside)/\(name)"))
        }
        try FileManager.default.createDirectory(
            atPath: "\(place.storage)/attachments/main", withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: place.attachments(collection), withDestinationPath: outside)
        try client.keepAttachment(for: record)
        #expect(throws: RemoteSettingsError.self) { try client.removeAttachment(for: record) }
        #expect(try client.pruneAttachments() == 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: outside).count == 2)
    }

    @Test func pruneRemovesUnreferencedAttachments() async throws {
        let (collection, client) = try await synced(["a", "b"])
        _ = try await client.downloadAttachments()
        #expect(try client.pruneAttachments() == 0)
        let foreign = String(repeating: "0", count: 64)
        let directory = URL(fileURLWithPath: place.attachments(collection))
        try Data("x".utf8).write(to: directory.appending(path: foreign))
        // The earlier version of "a" waits to stand in for the new one; after pruning it does so no more.
        let old = try record("a", of: client)
        try collection.attach(Data("new".utf8), to: "a")
        try await client.sync()
        #expect(client.isAttachmentStored(for: old))
        #expect(!files(collection).contains(foreign))
        try Data("x".utf8).write(to: directory.appending(path: foreign))
        #expect(try client.pruneAttachments() == 2)
        #expect(!client.isAttachmentStored(for: old))
        #expect(files(collection) == [try #require(record("b", of: client).attachment?.hash)])
        let empty = place.service().makeClient(collectionName: "nothing")
        #expect(try empty.pruneAttachments() == 0)
    }

    @Test func staleAttachmentNamesEarlierRecord() async throws {
        let (collection, client) = try await synced(["a"])
        try collection.put("a", ["version": 1])
        try collection.attach(Data("old".utf8), to: "a")
        let dumps = try await place.package([collection])
        try await client.sync()
        let old = try record("a", of: client)
        #expect(try await client.attachment(for: old).earlierRecord == nil)
        try collection.attach(Data("new".utf8), to: "a")
        try await client.sync()
        let new = try record("a", of: client)
        place.server.inject([Fault("/attachments/", effect: .status(404))])
        let cached = try await client.attachment(for: new, staleFallback: true)
        #expect(cached.source == .staleCached && cached.earlierRecord == old)
        #expect(try await client.attachmentFile(for: new, staleFallback: true).earlierRecord == old)
        let packaged = RemoteSettingsService(
            storageDirectory: place.path("other"), config: place.config { $0.packaged = [.directory(dumps)] }
        ).makeClient(collectionName: collection.name)
        try await packaged.sync()
        let fallback = try await packaged.attachment(for: new, staleFallback: true)
        #expect(fallback.source == .stalePackaged(dumps) && fallback.earlierRecord == old)
        #expect(fallback.earlierRecord?.attachment?.size == UInt64(fallback.bytes.count))
    }
}
