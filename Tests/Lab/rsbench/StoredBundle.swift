#if Lab
import Foundation
import RemoteSettingsModel
import SnapshotBundle

/// The same dumps with the records of one bundle stored, not deflated.
enum StoredBundle {
    static func write(_ collection: String, of dumps: String, to output: String) throws {
        let source = try PackagedDumps(dumps, collection)
        guard case .signed(let signature) = source.entry.trust else { throw BenchmarkError("not signed") }
        let bundle = try BundleReader(path: "\(dumps)/\(source.entry.bundle.path)")
        let snapshot = try Input.snapshot(of: bundle, signature, limits: Limits()).snapshot
        let target = URL(filePath: output).appending(path: source.entry.bundle.path)
        try FileManager.default.createDirectory(
            at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
        try FileManager.default.copyItem(
            at: URL(filePath: dumps).appending(path: "dumps.lock.json"),
            to: URL(filePath: output).appending(path: "dumps.lock.json"))
        _ = try BundleWriter(snapshot, attachments: Input.attachments(of: bundle), compression: .storedRecords)
            .write(toNewFile: target.path)
    }
}
#endif
