import Foundation
import RemoteSettingsModel
import Testing
@testable import SnapshotBundle

final class RoundTripTests: DirectorySuite {
    @Test(arguments: [0, 1, 1908], [BundleWriter.Compression.deflate, .storedRecords, .stored])
    func bundleIsReadAsWritten(count: Int, storage: BundleWriter.Compression) throws {
        let fixture = Fixture.records(count)
        let path = directory + "/b.zip"
        let written = try fixture.writer(storage).write(toNewFile: path)
        let file = try contents(path)
        #expect(written.size == file.count)
        #expect(written.sha256 == digest(file))

        let reader = try BundleReader(path: path)
        #expect(reader.head.collection.description == fixture.collection)
        #expect(reader.head.timestamp.milliseconds == fixture.timestamp)
        #expect(reader.head.records == count)
        #expect(reader.head.attachments == count)
        #expect(reader.head.omitted == 0)
        #expect(reader.head.trust == .signed)
        #expect(try reader.payloadText().text == fixture.payload)
        #expect(try reader.metadataText().text == fixture.metadata)
        #expect(try reader.chain()?.text == fixture.chain)
        #expect(try reader.payload().records.count == count)
        #expect(try Manifest.digest(of: reader.manifestText()) == written.content)
        #expect(try reader.verifyContents() == written.manifest)
        #expect(Array(reader.attachments) == fixture.sources.keys.sorted())
        for record in fixture.records {
            let bytes = try #require(record.attachment?.bytes)
            #expect(try reader.attachment(digest(bytes))?.array == bytes)
            #expect(try reader.attachmentSize(digest(bytes)) == bytes.count)
        }
        #expect(!reader.contains(digest([1])))
        #expect(try reader.attachment(digest([1])) == nil)
        #expect(try BundleHead.read(path: path) == reader.head)
        #expect(try BundleReader(bytes: Bytes(file), name: "memory").verifyContents() == written.manifest)
    }

    @Test func unsignedBundleHasNoChain() throws {
        var fixture = Fixture.records(1)
        fixture.isSigned = false
        let reader = try BundleReader(bytes: Bytes(fixture.bundle()), name: "b")
        #expect(reader.head.trust == .unsigned)
        #expect(try reader.chain() == nil)
        try reader.verifyContents()
    }

    @Test func oneFileAtTwoLocationsIsStoredOnce() throws {
        var fixture = Fixture()
        let odd = "x/\u{1F600}\u{1}é\"\\\u{7F}"
        fixture.records = [
            ("a", ([1, 2], "x/2")), ("b", ([1, 2], "x/1")), ("c", ([1, 2], "x/2")), ("d", nil), ("e", ([3], odd)),
        ]
        let reader = try BundleReader(bytes: Bytes(fixture.bundle()), name: "b")
        let manifest = try reader.verifyContents()
        #expect(reader.head.attachments == 2)
        #expect(
            manifest.files.map(\.location).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
                == ["x/1", "x/2", odd])
        #expect(manifest.files.first { $0.location == "x/2" }?.records == ["a", "c"])
    }

    @Test func omittedAttachmentIsListedWithReason() throws {
        let fixture = Fixture.records(4)
        var sources = fixture.sources
        let left = fixture.records.prefix(2).compactMap { $0.attachment.map { digest($0.bytes) } }
        for hash in left { sources[hash] = .omitted(.maxSize) }
        let path = directory + "/b.zip"
        let written = try BundleWriter(fixture.snapshot(), attachments: sources).write(toNewFile: path)
        let reader = try BundleReader(path: path)
        let manifest = try reader.verifyContents()
        #expect(manifest == written.manifest)
        #expect((reader.head.attachments, reader.head.omitted) == (2, 2))
        #expect(manifest.omissions == [Omission(reason: .maxSize, count: 2, bytes: 40 + 73)])
        #expect(Set(manifest.files.filter { $0.omitted == .maxSize }.map(\.sha256)) == Set(left))
    }

    @Test func attachmentsFromFilesAndBundles() throws {
        let fixture = Fixture.records(6)
        let old = directory + "/old.zip"
        _ = try fixture.writer().write(toNewFile: old)
        var sources = fixture.sources
        for (index, hash) in sources.keys.sorted().enumerated() {
            if index % 2 == 0 {
                sources[hash] = .bundle(try BundleReader(path: old))
            } else if case .bytes(let bytes)? = sources[hash] {
                try write(bytes.array, to: directory + "/\(index)")
                sources[hash] = .file(path: directory + "/\(index)")
            }
        }
        let new = directory + "/new.zip"
        _ = try BundleWriter(fixture.snapshot(), attachments: sources).write(toNewFile: new)
        #expect(try contents(new) == contents(old))
    }

    /// More entries than the 65,535 that a ZIP file without ZIP64 records can have.
    @Test func bundleOf66000Attachments() throws {
        let fixture = Fixture.records(66_000)
        let path = directory + "/b.zip"
        let written = try fixture.writer().write(toNewFile: path)
        let reader = try BundleReader(path: path)
        #expect(reader.head.attachments == 66_000)
        #expect(try reader.verifyContents() == written.manifest)
        for record in fixture.records.suffix(100) {
            let bytes = try #require(record.attachment?.bytes)
            #expect(try reader.attachment(digest(bytes))?.array == bytes)
        }
    }
}
