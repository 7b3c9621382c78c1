import Dumps
import Foundation
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing

@Suite struct AttachmentTests {
    let place: Workplace

    init() throws { place = try Workplace() }

    @Test func attachmentIsDownloadedOnceThenCached() async throws {
        let (collection, client) = try await place.synced(attaching: ["a": "hello"])
        let record = try client.record("a")
        #expect(client.localAttachment(for: record) == nil)
        let first = try await client.attachment(for: record)
        #expect(first.source == .network)
        #expect(first.data == Data("hello".utf8))
        let location = try #require(record.attachment?.location)
        #expect(try await client.getAttachment(location: location) == Data("hello".utf8))
        let offline = place.client(collection) {
            $0.transport = NoTransport()
            $0.limits.all.tries = 1
        }
        #expect(try await offline.attachment(for: record).source == .cached)
        #expect(offline.localAttachment(for: record)?.source == .cached)
        // A modified cached file is not used.
        let hash = try #require(record.attachment?.hash)
        let file = URL(fileURLWithPath: "\(place.attachments(collection))/\(hash)")
        try Data("HELLO".utf8).write(to: file)
        await #expect(throws: RemoteSettingsError.self) { try await offline.getAttachment(record: record) }
        #expect(try await client.attachment(for: record).source == .network)
    }

    /// A false or outdated base URL for attachments fails only one download, not all of them until the next start.
    @Test func movedAttachmentBaseURLIsReadAgain() async throws {
        let (_, client) = try await place.synced(attaching: ["a": "hello"])
        let record = try client.record("a")
        let elsewhere = #"{"capabilities":{"attachments":{"base_url":"https://settings.test/elsewhere/"}}}"#
        place.server.inject([
            Fault("/elsewhere/", effect: .status(404)), Fault("/v", effect: .body(elsewhere), times: 1),
        ])
        await #expect(throws: RemoteSettingsError.self) { try await client.getAttachment(record: record) }
        #expect(try await client.getAttachment(record: record) == Data("hello".utf8))
    }

    @Test func wrongBytesAreRetriedThreeTimesAndNeverReturned() async throws {
        let (collection, client) = try await place.synced(attaching: ["a": "hello"])
        let record = try client.record("a")
        let location = try #require(record.attachment?.location)
        place.server.inject([Fault(location, effect: .corrupted)])
        let asked = place.server.requests.count
        let error = await #expect(throws: RemoteSettingsError.self) { try await client.getAttachment(record: record) }
        #expect(error.map { "\($0)" }?.contains("SHA-256") == true)
        #expect(place.server.requests.dropFirst(asked).filter { $0.path.contains(location) }.count == 3)
        place.server.inject([Fault(location, effect: .corrupted, times: 2)])
        #expect(try await client.getAttachment(record: record) == Data("hello".utf8))
        place.server.inject([])
        let left = try FileManager.default.contentsOfDirectory(atPath: place.attachments(collection))
        #expect(left == [record.attachment?.hash])
    }

    @Test func largeAttachmentsReportProgress() async throws {
        let collection = try place.collection()
        let content = Data((0..<3_000_000).map { (number: Int) in UInt8(truncatingIfNeeded: number &* 31 >> 3) })
        try collection.attach(content, to: "a")
        let client = place.client(collection)
        try await client.sync()
        let record = try client.record("a")
        let location = try #require(record.attachment?.location)
        // The connection breaks once during the download.
        place.server.inject([Fault(location, effect: .truncated(1_000_000), times: 1)])
        let seen = Collector<AttachmentProgress>()
        let file = try await client.attachmentFile(for: record) { seen.add($0) }
        place.server.inject([])
        #expect(file.source == .network)
        #expect(try Data(contentsOf: file.url) == content)
        #expect(seen.all.last == AttachmentProgress(received: 3_000_000, total: 3_000_000) && seen.all.count > 1)
        #expect(try await client.attachmentFile(for: record).source == .cached)
    }

    @Test func packagedAttachmentAsAFile() async throws {
        let collection = try place.collection()
        try collection.attach(Data(repeating: 7, count: 100_000), to: "a")
        let dumps = try await place.package([collection])
        let client = place.client(collection) {
            $0.packaged = [.directory(dumps)]
            $0.transport = NoTransport()
        }
        let record = try client.record("a")
        #expect(client.localAttachment(for: record) != nil && !client.isAttachmentStored(for: record))
        let file = try await client.attachmentFile(for: record)
        #expect(file.source == .packaged(dumps))
        #expect(try Data(contentsOf: file.url) == Data(repeating: 7, count: 100_000))
        #expect(client.localAttachment(for: record)?.source == .cached)
    }

    @Test func manyAttachmentsAreDownloadedAsZIP() async throws {
        let collection = try place.server.makeCollection(offersZip: true)
        for number in 0..<20 { try collection.attach(Data("file \(number)".utf8), to: "r\(number)") }
        try collection.buildZip(omit: ["r3"], corrupt: ["r4"])
        let client = place.client(collection)
        try await client.sync()
        let asked = place.server.requests.count
        let summary = try await client.downloadAttachments()
        #expect(summary == AttachmentDownloads(present: 0, fromZip: 18, downloaded: 2))
        let requests = place.server.requests.dropFirst(asked)
        #expect(requests.filter { $0.path.hasSuffix(".zip") }.count == 1)
        // The root document, the zip, and the two attachments that are missing or corrupt in the zip.
        #expect(requests.count == 4)
        #expect(try await client.downloadAttachments() == AttachmentDownloads(present: 20))
        for number in 0..<20 {
            let content = try await client.attachment(for: client.record("r\(number)"))
            #expect(content.data == Data("file \(number)".utf8))
            #expect(content.source == .cached)
        }
    }

    /// An attachment that the server has lost does not stop the other downloads.
    @Test func attachmentsAreDownloadedSinglyWithoutZIP() async throws {
        let collection = try place.server.makeCollection(offersZip: true)
        for number in 0..<18 { try collection.attach(Data("file \(number)".utf8), to: "r\(number)") }
        let client = place.client(collection)
        try await client.sync()
        let lost = Fault(try #require(client.record("r3").attachment).location, effect: .status(404))
        place.server.inject([lost])
        let downloads = try await client.downloadAttachments()
        #expect(downloads.downloaded == 17 && downloads.failed.keys.elementsEqual(["r3"]))
        place.server.inject([])
        #expect(try await client.downloadAttachments() == AttachmentDownloads(present: 17, downloaded: 1))
    }

    @Test func staleAttachmentsAreReturnedOnRequest() async throws {
        let collection = try place.collection(with: ["a": ["version": 1]])
        for (id, text) in [("a", "old"), ("b", "old b")] { try collection.attach(Data(text.utf8), to: id) }
        let dumps = try await place.package([collection])
        let cached = place.client(collection)
        try await cached.sync()
        let old = try cached.record("a")
        #expect(try await cached.attachment(for: old).earlierRecord == nil)
        try collection.attach(Data("new".utf8), to: "a")
        try await cached.sync()
        let new = try cached.record("a")
        // In a separate storage directory, only the package has the earlier attachment.
        let packaged = place.client(collection, in: "other") { $0.packaged = [.directory(dumps)] }
        try await packaged.sync()
        place.server.inject([Fault("/attachments/", effect: .status(404))])
        for (client, source) in [
            (cached, .staleCached), (place.client(collection), .staleCached), (packaged, .stalePackaged(dumps)),
        ] as [(RemoteSettingsClient, AttachmentSource)] {
            await #expect(throws: RemoteSettingsError.self) { try await client.attachment(for: new) }
            let stale = try await client.attachment(for: new, staleFallback: true)
            #expect(stale.source == source && stale.data == Data("old".utf8) && stale.earlierRecord == old)
            let file = try await client.attachmentFile(for: new, staleFallback: true)
            #expect(try Data(contentsOf: file.url) == Data("old".utf8) && file.earlierRecord == old)
        }
        place.server.inject([])
        #expect(try await cached.attachment(for: new).data == Data("new".utf8))
    }

    @Test func attachmentsOfDeletedRecordsAreRemoved() async throws {
        let collection = try place.collection()
        for id in ["a", "b"] { try collection.attach(Data("file \(id)".utf8), to: id) }
        let client = place.client(collection)
        try await client.sync()
        _ = try await client.downloadAttachments()
        let directory = place.attachments(collection)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory).count == 2)
        collection.delete("a")
        try await client.sync()
        let left = try FileManager.default.contentsOfDirectory(atPath: directory)
        #expect(left == [try client.record("b").attachment?.hash])
        try await client.resetStorage()
        #expect(client.records == nil && !FileManager.default.fileExists(atPath: directory))
    }

    @Test func attachmentOmittedFromThePackageIsDownloaded() async throws {
        let collection = try place.collection(attaching: ["a": "not packaged"])
        let dumps = try await place.package([collection], attachments: AttachmentRule(.none))
        let client = place.client(collection) { $0.packaged = [.directory(dumps)] }
        let record = try client.record("a")
        #expect(client.localAttachment(for: record) == nil)
        #expect(try await client.attachment(for: record).source == .network)
    }
}
