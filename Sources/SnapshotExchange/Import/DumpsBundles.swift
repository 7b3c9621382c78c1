import ContentSignature
import Dumps
import FileStorage
import RemoteSettingsModel
import SnapshotBundle

/// The bundles of another directory of dumps, verified by its lock.
struct DumpsBundles {
    let directory: DumpsDirectory
    let verifier: BundleVerifier
    let limits: Limits

    /// - Parameter names: none for all.
    func offers(_ names: [CollectionID]) throws -> [(CollectionID, Result<SnapshotIntake.Offer, any Error>)] {
        let lock = try directory.lockFile(limits: limits)
        let wanted = lock.collections.filter { names.isEmpty || names.contains($0.key) }
        guard !wanted.isEmpty else {
            throw ExchangeError(
                .badInput, directory.lockPath, expected: "bundles", found: "none of the wanted collections",
                remedy: "name the directory or archive that holds them")
        }
        return wanted.sorted { $0.key < $1.key }.map { id, entry in (id, Result { try offer(id, entry) }) }
    }

    private func offer(_ id: CollectionID, _ entry: LockFile.Collection) throws -> SnapshotIntake.Offer {
        let path = directory.bundlePath(id)
        try verifier.verify(path, of: id, against: entry)
        let bundle = try BundleReader(path: path, limits: limits)
        var attachments: [SHA256Digest: AttachmentSource] = [:]
        for file in try bundle.manifest().files {
            attachments[file.sha256] = file.omitted.map { .omitted($0) } ?? .bundle(bundle)
        }
        return .init(
            snapshot: try verifier.snapshot(of: bundle, as: entry), attachments: attachments, origin: entry.server)
    }
}
