#if Lab
import Foundation
import RemoteSettingsModel
import SnapshotBundle

/// Opening a bundle, indexing its records, and fetching one attachment.
struct ReadRows {
    let input: Input
    let runs: Int

    func table() throws -> Table {
        let largest = try input.largest()
        let bundle = largest.bundle
        let payload = largest.snapshot.payload.bytes
        let deflated = try bytes(of: largest, .deflate)
        let stored = try bytes(of: largest, .storedRecords)
        guard let last = bundle.attachments.last else { throw BenchmarkError("\(largest.id) has no attachments") }
        let count = bundle.attachments.count
        var table = Table("Read \(largest.id): \(largest.entry.records) records, \(count) attachments, from memory")
        func open(_ bytes: Bytes) throws -> BundleReader {
            try BundleReader(bytes: bytes, name: "bundle", limits: input.limits)
        }
        table.add("open", try Measurement(runs: runs) { try open(deflated) })
        table.add(
            "index records of a payload",
            try Measurement(runs: runs) { try Payload(parsing: payload, limits: input.limits) },
            bytes: payload.count, goal: "≤ 0.5 ms")
        table.add(
            "open, inflate, index records", try Measurement(runs: runs) { try open(deflated).payload() },
            bytes: payload.count, goal: "≤ 4.5 ms")
        table.add(
            "open, index stored records", try Measurement(runs: runs) { try open(stored).payload() },
            bytes: payload.count, goal: "≤ 1 ms")
        table.add(
            "last attachment, bundle open, hash checked", try Measurement(runs: runs) { try bundle.attachment(last) },
            goal: "≤ 0.1 ms")
        table.add(
            "open and last attachment, hash checked",
            try Measurement(runs: runs) { try open(deflated).attachment(last) })
        return table
    }

    private func bytes(of collection: Input.Collection, _ storage: BundleWriter.Compression) throws -> Bytes {
        let path = FileManager.default.temporaryDirectory.appending(path: "rsbench-\(UUID().uuidString).zip")
        defer { try? FileManager.default.removeItem(at: path) }
        let attachments = try Input.attachments(of: collection.bundle)
        _ = try BundleWriter(collection.snapshot, attachments: attachments, compression: storage)
            .write(toNewFile: path.path)
        return Bytes([UInt8](try Data(contentsOf: path)))
    }
}
#endif
