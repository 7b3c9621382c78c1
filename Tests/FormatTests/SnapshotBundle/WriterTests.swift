import Foundation
import RemoteSettingsModel
@testable import SnapshotBundle
import Testing

final class WriterTests: DirectorySuite {
    private func error(_ fixture: Fixture, _ sources: [SHA256Digest: AttachmentInput]) throws -> Failure? {
        let path = "\(directory)/\(UUID().uuidString).zip"
        let error = failure(of: { try BundleWriter(fixture.snapshot(), attachments: sources).write(toNewFile: path) })
        #expect(FileManager.default.fileExists(atPath: path) == (error == nil))
        return error
    }

    @Test func wrongAttachmentIsNamedAndLeavesNoFile() throws {
        let fixture = Fixture.records(5)
        let hash = try #require(fixture.sources.keys.min())
        let name = "attachments/\(hash)"
        guard case .bytes(let right)? = fixture.sources[hash] else { return }
        var other = right.array
        other[3] ^= 1
        for wrong in [other, other + [0], Array(other.dropLast()), []] {
            var sources = fixture.sources
            sources[hash] = .bytes(Bytes(wrong))
            let fromMemory = try #require(try error(fixture, sources))
            #expect((fromMemory.code, fromMemory.entry) == (.usage, name))
            try write(wrong, to: directory + "/file")
            sources[hash] = .file(path: directory + "/file")
            let fromFile = try #require(try error(fixture, sources))
            #expect((fromFile.code, fromFile.entry, fromFile.place) == (.usage, name, directory + "/file"))
        }
        var sources = fixture.sources
        sources[hash] = nil
        #expect(try error(fixture, sources)?.entry == name)
        sources[hash] = .file(path: "/nonexistent/file")
        #expect(try error(fixture, sources)?.code == .storage)
        sources[hash] = .file(path: "/tmp")
        #expect(try error(fixture, sources)?.code == .storage)
        sources[hash] = .bundle(try BundleReader(bytes: Bytes(Fixture.records(0).bundle()), name: "empty.zip"))
        #expect(try error(fixture, sources)?.code == .damaged)
        sources = fixture.sources
        sources[digest([9])] = .bytes(Bytes([9]))
        #expect(try error(fixture, sources)?.entry == "attachments/\(digest([9]))")
    }

    @Test func inconsistentSnapshotIsRefused() throws {
        var fixture = Fixture()
        fixture.records = [("b", nil), ("a", nil)]
        // Such a snapshot cannot be created, so it never reaches the writer.
        #expect(throws: Failure.self) { try fixture.snapshot() }
        fixture = Fixture.records(0)
        fixture.timestamp = 999_999_999_999_999_999
        #expect(try error(fixture, [:]) == nil)
        fixture.timestamp += 1
        #expect(try error(fixture, [:])?.entry == "manifest.json")
    }

    @Test func existingFileIsNotOverwritten() throws {
        let path = directory + "/b.zip"
        try write([1, 2, 3], to: path)
        #expect(throws: Failure.self) { try Fixture.records(1).writer().write(toNewFile: path) }
        #expect(try contents(path) == [1, 2, 3])
        let nowhere = try #require(throws: Failure.self) {
            try Fixture.records(1).writer().write(toNewFile: directory + "/no/b.zip")
        }
        #expect(nowhere.code == .storage)
    }

    @Test func fullDeviceIsReported() throws {
        let descriptor = unsafe open("/dev/full", O_WRONLY)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let error = try #require(throws: Failure.self) {
            try Fixture.records(2000).writer().write(toDescriptor: descriptor, name: "full")
        }
        #expect(error.code == .storage)
        #expect(error.problem == "cannot write: No space left on device")
    }

    /// Entries above 4 MiB are streamed. They are stored uncompressed if their first 1 MiB does not compress.
    @Test func largeAttachmentsAreStreamed() throws {
        var random = SplitMix(state: 3)
        var noise = [UInt8](repeating: 0, count: 2 << 20)
        for index in noise.indices { noise[index] = UInt8.random(in: 0...255, using: &random) }
        let text = [UInt8](repeating: 0x61, count: 5 << 20)
        var fixture = Fixture()
        fixture.records = [("a", (noise + text, "noise")), ("b", (text + noise, "text")), ("c", (noise, "small"))]
        var sources: [SHA256Digest: AttachmentInput] = [:]
        for record in fixture.records {
            let bytes = try #require(record.attachment?.bytes)
            try write(bytes, to: directory + "/" + record.id)
            sources[digest(bytes)] = .file(path: directory + "/" + record.id)
        }
        let path = directory + "/b.zip"
        let written = try BundleWriter(fixture.snapshot(), attachments: sources).write(toNewFile: path)
        #expect(written.size > (7 + 2 + 2) << 20 && written.size < (7 + 2 + 2 + 1) << 20)
        let reader = try BundleReader(path: path)
        try reader.verifyContents()
        for record in fixture.records {
            let bytes = try #require(record.attachment?.bytes)
            var streamed: [UInt8] = []
            let isPresent = try reader.streamAttachment(digest(bytes)) { piece in
                #expect(piece.count <= 1 << 20)
                unsafe piece.withUnsafeBufferPointer { unsafe streamed.append(contentsOf: $0) }
            }
            #expect(isPresent)
            #expect(streamed == bytes)
        }
        for hash in sources.keys { sources[hash] = .bundle(reader) }
        let again = try BundleWriter(fixture.snapshot(), attachments: sources).write(toNewFile: path + "2")
        #expect(again == written)
        try write((noise + text).dropLast() + [0], to: directory + "/a")
        sources[digest(noise + text)] = .file(path: directory + "/a")
        #expect(throws: Failure.self) {
            try BundleWriter(fixture.snapshot(), attachments: sources).write(toNewFile: path + "3")
        }
        #expect(!FileManager.default.fileExists(atPath: path + "3"))
    }

    /// Whether a large entry is compressed depends on its first 1 MiB; for a small entry, on all of its content.
    /// Contents compressed in advance give the same bytes.
    @Test func firstMebibyteDecidesCompression() throws {
        var random = SplitMix(state: 4)
        var fixture = Fixture()
        var noise = (0..<5 << 20).map { _ in UInt8.random(in: 0...255, using: &random) }
        // The zeros save more than the overhead of deflating the first 1 MiB of noise, but less than that of deflating
        // all of it.
        for index in 0..<800 { noise[index] = 0 }
        fixture.records = [
            ("more", (Array(repeating: 7, count: 5 << 20), "more")), ("noise", (Array(noise[1000...]), "noise")),
            ("part", (Array(noise[..<(1 << 20)]), "part")), ("small", (Array(noise[..<(4 << 20)]), "small")),
            ("whole", (noise, "whole")),
        ]
        let path = directory + "/b.zip"
        let written = try fixture.writer().write(toNewFile: path)
        let file = try contents(path)
        #expect(written.size == file.count)
        #expect(written.sha256 == digest(file))
        let reader = try BundleReader(path: path)
        try reader.verifyContents()
        for record in fixture.records {
            let bytes = try #require(record.attachment?.bytes)
            let entry = try #require(try reader.packedAttachment(digest(bytes)))
            #expect(entry.isDeflated == (record.id != "small" && record.id != "noise"))
            if !entry.isDeflated { #expect(entry.bytes == Bytes(bytes)) }
            guard bytes.count <= EntryWriter.wholeTrial else { continue }
            #expect(try Deflater.forBundles("x").pack(Bytes(bytes)).1 == entry.bytes)
        }
    }
}
