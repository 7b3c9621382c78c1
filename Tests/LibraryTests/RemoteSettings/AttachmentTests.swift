import Dumps
import Foundation
import RemoteSettings
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing

extension ServerTests {
    @Suite struct AttachmentTests {
        let place: Workplace

        init() throws { place = try Workplace() }

        private func client(
            _ collection: ServerCollection, _ change: (inout RemoteSettingsConfig) -> Void = { _ in }
        ) -> RemoteSettingsClient {
            place.service(change).makeClient(collectionName: collection.name)
        }

        private func record(_ id: String, of client: RemoteSettingsClient) throws -> RemoteSettingsRecord {
            try #require(client.recordsByID?[id])
        }

        @Test func downloadedOnceThenCached() async throws {
            let collection = try place.server.makeCollection()
            try collection.attach(Data("hello".utf8), to: "a")
            let client = client(collection)
            try await client.sync()
            let record = try record("a", of: client)
            #expect(client.localAttachment(for: record) == nil)
            let first = try await client.attachment(for: record)
            #expect(first.source == .network)
            #expect(first.data == Data("hello".utf8))
            let location = try #require(record.attachment?.location)
            #expect(try await client.getAttachment(location: location) == Data("hello".utf8))
            let offline = self.client(collection) {
                $0.transport = NoTransport()
                $0.limits.all.tries = 1
            }
            #expect(try await offline.attachment(for: record).source == .cached)
            #expect(offline.localAttachment(for: record)?.source == .cached)
            // A cached file that was changed is not believed.
            let hash = try #require(record.attachment?.hash)
            let file = URL(fileURLWithPath: "\(place.attachments(collection))/\(hash)")
            try Data("HELLO".utf8).write(to: file)
            await #expect(throws: RemoteSettingsError.self) { try await offline.getAttachment(record: record) }
            #expect(try await client.attachment(for: record).source == .network)
        }

        /// A lie about where attachments are, or a server that has moved them, costs one download, and not all of them
        /// until the next start.
        @Test func movedAttachmentBaseURLIsReadAgain() async throws {
            let collection = try place.server.makeCollection()
            try collection.attach(Data("hello".utf8), to: "a")
            let client = client(collection)
            try await client.sync()
            let record = try record("a", of: client)
            let elsewhere = #"{"capabilities":{"attachments":{"base_url":"https://settings.test/elsewhere/"}}}"#
            place.server.inject([
                Fault("/elsewhere/", effect: .status(404)), Fault("/v", effect: .body(elsewhere), times: 1),
            ])
            await #expect(throws: RemoteSettingsError.self) { try await client.getAttachment(record: record) }
            #expect(try await client.getAttachment(record: record) == Data("hello".utf8))
        }

        @Test func wrongBytesAreRetriedThreeTimesAndNeverReturned() async throws {
            let collection = try place.server.makeCollection()
            try collection.attach(Data("hello".utf8), to: "a")
            let client = client(collection)
            try await client.sync()
            let record = try record("a", of: client)
            let location = try #require(record.attachment?.location)
            place.server.inject([Fault(location, effect: .corrupted)])
            let asked = place.server.requests.count
            let error = await #expect(throws: RemoteSettingsError.self) {
                try await client.getAttachment(record: record)
            }
            #expect(error.map { "\($0)" }?.contains("SHA-256") == true)
            #expect(place.server.requests.dropFirst(asked).filter { $0.path.contains(location) }.count == 3)
            place.server.inject([Fault(location, effect: .corrupted, times: 2)])
            #expect(try await client.getAttachment(record: record) == Data("hello".utf8))
            place.server.inject([])
            let left = try FileManager.default.contentsOfDirectory(atPath: place.attachments(collection))
            #expect(left == [record.attachment?.hash])
        }

        @Test func largeAttachmentsReportProgress() async throws {
            let collection = try place.server.makeCollection()
            let content = Data((0..<3_000_000).map { (number: Int) in UInt8(truncatingIfNeeded: number &* 31 >> 3) })
            try collection.attach(content, to: "a")
            let client = client(collection)
            try await client.sync()
            let record = try record("a", of: client)
            let location = try #require(record.attachment?.location)
            // The connection breaks once in the middle.
            place.server.inject([Fault(location, effect: .truncated(1_000_000), times: 1)])
            let seen = Mutex<[AttachmentProgress]>([])
            let file = try await client.attachmentFile(for: record) { progress in seen.withLock { $0.append(progress) }
            }
            place.server.inject([])
            #expect(file.source == .network)
            #expect(try Data(contentsOf: file.url) == content)
            let progress = seen.withLock { $0 }
            #expect(progress.last == AttachmentProgress(received: 3_000_000, total: 3_000_000))
            #expect(progress.count > 1)
            #expect(try await client.attachmentFile(for: record).source == .cached)
        }

        @Test func packagedAttachmentAsAFile() async throws {
            let collection = try place.server.makeCollection()
            try collection.attach(Data(repeating: 7, count: 100_000), to: "a")
            let dumps = try await place.package([collection])
            let client = client(collection) {
                $0.packaged = [.directory(dumps)]
                $0.transport = NoTransport()
            }
            let record = try record("a", of: client)
            let file = try await client.attachmentFile(for: record)
            #expect(file.source == .packaged(dumps))
            #expect(try Data(contentsOf: file.url) == Data(repeating: 7, count: 100_000))
            #expect(client.localAttachment(for: record)?.source == .cached)
        }

        @Test func manyAttachmentsComeInTheServersZip() async throws {
            let collection = try place.server.makeCollection(offersZip: true)
            for number in 0..<20 { try collection.attach(Data("file \(number)".utf8), to: "r\(number)") }
            try collection.buildZip(omit: ["r3"], corrupt: ["r4"])
            let client = client(collection)
            try await client.sync()
            let asked = place.server.requests.count
            let summary = try await client.downloadAttachments()
            #expect(summary == AttachmentDownloads(present: 0, fromZip: 18, downloaded: 2))
            let requests = place.server.requests.dropFirst(asked)
            #expect(requests.filter { $0.path.hasSuffix(".zip") }.count == 1)
            // The root document, the zip, and the two that it did not give.
            #expect(requests.count == 4)
            #expect(try await client.downloadAttachments() == AttachmentDownloads(present: 20))
            for number in 0..<20 {
                let content = try await client.attachment(for: record("r\(number)", of: client))
                #expect(content.data == Data("file \(number)".utf8))
                #expect(content.source == .cached)
            }
        }

        /// One that the server has lost stops no other.
        @Test func attachmentsAreDownloadedOneByOneWithoutAZip() async throws {
            let collection = try place.server.makeCollection(offersZip: true)
            for number in 0..<18 { try collection.attach(Data("file \(number)".utf8), to: "r\(number)") }
            let client = client(collection)
            try await client.sync()
            let lost = Fault(try #require(record("r3", of: client).attachment).location, effect: .status(404))
            place.server.inject([lost])
            let downloads = try await client.downloadAttachments()
            #expect(downloads.downloaded == 17 && downloads.failed.keys.elementsEqual(["r3"]))
            place.server.inject([])
            #expect(try await client.downloadAttachments() == AttachmentDownloads(present: 17, downloaded: 1))
        }

        @Test func staleAttachmentsAreReturnedOnRequest() async throws {
            let collection = try place.server.makeCollection()
            try collection.attach(Data("old".utf8), to: "a")
            try collection.attach(Data("old b".utf8), to: "b")
            let dumps = try await place.package([collection])
            let cachedClient = client(collection)
            try await cachedClient.sync()
            _ = try await cachedClient.getAttachment(record: record("a", of: cachedClient))
            try collection.attach(Data("new".utf8), to: "a")
            try await cachedClient.sync()
            let record = try record("a", of: cachedClient)
            place.server.inject([Fault("/attachments/", effect: .status(404))])
            for client in [cachedClient, client(collection)] {
                await #expect(throws: RemoteSettingsError.self) { try await client.attachment(for: record) }
                let stale = try await client.attachment(for: record, staleFallback: true)
                #expect(stale.source == .staleCached)
                #expect(stale.data == Data("old".utf8))
            }
            // In a storage directory of its own, the package has the earlier one.
            let packaged = RemoteSettingsService(
                storageDirectory: place.path("other"), config: place.config { $0.packaged = [.directory(dumps)] }
            ).makeClient(collectionName: collection.name)
            try await packaged.sync()
            let stale = try await packaged.attachment(for: record, staleFallback: true)
            #expect(stale.source == .stalePackaged(dumps))
            #expect(stale.data == Data("old".utf8))
            #expect(
                try Data(contentsOf: await packaged.attachmentFile(for: record, staleFallback: true).url)
                    == Data("old".utf8))
            place.server.inject([])
            #expect(try await cachedClient.attachment(for: record).data == Data("new".utf8))
        }

        @Test func orphansAreRemoved() async throws {
            let collection = try place.server.makeCollection()
            for id in ["a", "b"] { try collection.attach(Data("file \(id)".utf8), to: id) }
            let client = client(collection)
            try await client.sync()
            _ = try await client.downloadAttachments()
            let directory = place.attachments(collection)
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory).count == 2)
            collection.delete("a")
            try await client.sync()
            let left = try FileManager.default.contentsOfDirectory(atPath: directory)
            #expect(left == [try record("b", of: client).attachment?.hash])
            try await client.resetStorage()
            #expect(!FileManager.default.fileExists(atPath: directory))
        }

        @Test func attachmentOmittedFromThePackageIsDownloaded() async throws {
            let collection = try place.server.makeCollection()
            try collection.attach(Data("not packaged".utf8), to: "a")
            let dumps = try await place.package([collection], attachments: AttachmentRule(.none))
            let client = client(collection) { $0.packaged = [.directory(dumps)] }
            let record = try record("a", of: client)
            #expect(client.localAttachment(for: record) == nil)
            #expect(try await client.attachment(for: record).source == .network)
        }
    }
}
