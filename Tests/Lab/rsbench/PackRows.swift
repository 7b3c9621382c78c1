#if Lab
import CZlib
import Foundation
import RemoteSettingsModel
import SnapshotBundle

/// Writing bundles, against deflating the same bytes.
struct PackRows {
    let input: Input
    let runs: Int

    func table() throws -> Table {
        let folder = FileManager.default.temporaryDirectory.appending(path: "rsbench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let contents = try input.collections.map { try Contents($0) }
        let bytes = contents.reduce(0) { $0 + $1.bytes }
        let files = contents.reduce(0) { $0 + $1.attachments.count }
        let runs = max(1, runs / 4)
        var table = Table("Pack \(contents.count) bundles, \(files) attachments, \(bytes) bytes in all")
        for (name, storage) in [("deflated", BundleWriter.Compression.deflate), ("stored", .storedRecords)] {
            table.add(
                "bundles, records \(name)",
                try Measurement(runs: runs) {
                    for (number, content) in contents.enumerated() {
                        let path = folder.appending(path: "\(number).zip").path
                        _ = try? FileManager.default.removeItem(atPath: path)
                        _ = try content.writer(storage).write(toNewFile: path)
                    }
                }, bytes: bytes)
        }
        let everything = contents.flatMap { $0.attachments.values + [$0.collection.snapshot.payload.bytes] }
        table.add("zlib alone, level 9", Measurement(runs: runs) { everything.map(deflated) }, bytes: bytes)
        return table
    }

    private struct Contents {
        let collection: Input.Collection
        let attachments: [SHA256Digest: Bytes]
        let sources: [SHA256Digest: AttachmentInput]
        let bytes: Int

        init(_ collection: Input.Collection) throws {
            self.collection = collection
            var attachments: [SHA256Digest: Bytes] = [:]
            for digest in collection.bundle.attachments {
                attachments[digest] = try collection.bundle.attachment(digest, isTrusted: true)
            }
            var sources = attachments.mapValues(AttachmentInput.bytes)
            for file in try collection.bundle.manifest().files {
                if let reason = file.omitted { sources[file.sha256] = .omitted(reason) }
            }
            self.attachments = attachments
            self.sources = sources
            bytes = attachments.values.reduce(collection.snapshot.payload.bytes.count) { $0 + $1.count }
        }

        func writer(_ storage: BundleWriter.Compression) -> BundleWriter {
            BundleWriter(collection.snapshot, attachments: sources, compression: storage)
        }
    }

    private func deflated(_ bytes: Bytes) -> Int {
        unsafe bytes.withUnsafeBytes { input in
            var size = compressBound(uLong(input.count))
            return unsafe withUnsafeTemporaryAllocation(byteCount: Int(size), alignment: 1) { output in
                _ = unsafe compress2(
                    output.bindMemory(to: Bytef.self).baseAddress, &size,
                    input.bindMemory(to: Bytef.self).baseAddress, uLong(input.count), 9)
                return Int(size)
            }
        }
    }
}
#endif
