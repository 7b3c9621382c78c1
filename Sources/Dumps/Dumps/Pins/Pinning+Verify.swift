import RemoteSettingsModel
import SnapshotBundle

// MARK: - Verification of older bundles
extension Pinning {
    /// Verifies an older bundle as strictly as a current one. Does I/O.
    ///
    /// If the bundle has a lock file, its chain is verified as of the `verifiedAt` in it. Without a lock file, it is
    /// verified at the current time, so its chain must still be valid.
    ///
    /// - Parameters:
    ///   - isForeign: whether the bundle comes from outside the directory's git history. If it is unsigned, it then
    ///     replaces a signed one only if the configuration accepts unsigned collections.
    ///   - held: the current entry in the lock file.
    /// - Returns: the bundle, its entry for the lock file, and whether that entry comes from the older lock file.
    /// - Throws: ``Failure`` if it cannot be verified, or an error of this machine's files.
    func verified(
        _ historic: HistoricBundle, isForeign: Bool, settings: DumpsConfiguration.Collection,
        held: LockFile.Collection?
    ) async throws -> (bundle: Bytes, entry: LockFile.Collection, isLocked: Bool) {
        do {
            let locked = try await historic.lockEntry()
            let bytes = try await historic.contents()
            let entry = try verified(
                bytes, name: "\(historic.origin)", isForeign: isForeign, settings: settings, held: held, locked: locked)
            return (bytes, entry, locked != nil)
        } catch  where !error.isOfMachine {
            throw Failure.notVouchedFor(settings.id, place: "\(historic.origin)", problem: "\(error)")
        }
    }

    private func verified(
        _ bytes: Bytes, name: String, isForeign: Bool, settings: DumpsConfiguration.Collection,
        held: LockFile.Collection?, locked: LockFile.Collection?
    ) throws -> LockFile.Collection {
        let verifier = BundleVerifier(policy)
        let bundle = try BundleReader(bytes: bytes, name: name)
        let manifest = try bundle.verifyContents()
        let offered = Standing(manifest.head.timestamp, manifest.head.trust)
        let losesSignature = held.map { offered.losesSignature(of: $0.standing) } ?? false
        if manifest.head.trust == .unsigned || isForeign && losesSignature, !policy.acceptsUnsigned {
            throw Failure(
                problem: "it is not signed" + (losesSignature ? ", but the current bundle is" : "")
                    + "; to accept unsigned collections, write trust: accept-unsigned: true in dumps.yaml")
        }
        if manifest.head.trust == .imported, locked == nil {
            throw Failure(
                problem: "it was imported without a signature, and there is no DIR/dumps.lock.json for "
                    + "DIR/\(LockFile.Bundle.path(of: settings.id)); give the whole dumps directory with --from")
        }
        try settings.budget.check(size: bytes.count, of: manifest)
        let entry = try locked ?? entry(for: bundle, bytes, manifest: manifest, held: held, verifier: verifier)
        try verifier.verify(bytes, name: name, of: settings.id, against: entry)
        return entry
    }

    /// Returns an entry for a bundle that has no lock file.
    private func entry(
        for bundle: BundleReader, _ bytes: Bytes, manifest: Manifest, held: LockFile.Collection?,
        verifier: BundleVerifier
    ) throws -> LockFile.Collection {
        let found = WrittenBundle(
            size: bytes.count, sha256: SHA256Digest(hashing: bytes),
            content: Manifest.digest(of: try bundle.manifestText()), manifest: manifest)
        return LockFile.Collection(
            found, trust: try verifier.provenance(of: bundle, at: now), server: held?.server ?? configuration.server,
            // The rule that left attachments out is unknown. With this value, the next refresh applies the rule in
            // dumps.yaml.
            attachmentRule: manifest.omissions.isEmpty ? AttachmentRule().text : "unknown")
    }
}
