import Foundation
import RemoteSettingsModel
import SnapshotBundle

/// The same dumps with the records of one bundle stored, not deflated.
enum StoredBundle {
    static func write(_ collection: String, of dumps: String, to output: String) throws {
        let source = try PackagedDumps(dumps, collection)
        guard case .signed(let signature) = source.entry.trust else { throw BenchmarkError("not signed") }
        let bundle = try BundleReader(path: "\(dumps)/\(source.entry.bundle.path)")
        let snapshot = try snapshot(of: bundle, signature)
        let target = URL(filePath: output).appending(path: source.entry.bundle.path)
        try FileManager.default.createDirectory(
            at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
        try FileManager.default.copyItem(
            at: URL(filePath: dumps).appending(path: "dumps.lock.json"),
            to: URL(filePath: output).appending(path: "dumps.lock.json"))
        _ = try BundleWriter(snapshot, attachments: attachments(of: bundle), compression: .storedRecords)
            .write(toNewFile: target.path)
    }

    /// What a bundle holds, verified at the time that the lock keeps.
    private static func snapshot(of bundle: BundleReader, _ signature: SignatureVerdict) throws -> Snapshot {
        guard let pem = try bundle.chain() else { throw BenchmarkError("\(bundle.name) has no chain") }
        let chain = try CertificateChain(pem: pem).verified(
            anchors: TrustAnchors([signature.root]), signer: SignerName(signature.signer), at: signature.verifiedAt)
        let unverified = try bundle.unverifiedSnapshot()
        return try unverified.verified(
            with: Dictionary(unverified.signatures.map { ($0.x5u, .success(chain)) }) { first, _ in first },
            signer: chain.signer)
    }

    /// A bundle's attachments, for another bundle.
    private static func attachments(of bundle: BundleReader) throws -> [SHA256Digest: AttachmentInput] {
        var sources: [SHA256Digest: AttachmentInput] = [:]
        for file in try bundle.manifest().files {
            sources[file.sha256] = file.omitted.map { .omitted($0) } ?? .bundle(bundle)
        }
        return sources
    }
}
