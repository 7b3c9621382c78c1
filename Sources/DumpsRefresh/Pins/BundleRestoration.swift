import ContentSignature
import Dumps
import FileStorage
import RemoteSettingsModel
import SnapshotBundle
import SnapshotHistory

/// Puts an older bundle in the place of the present one, after verifying it as any bundle is.
///
/// The lock that the bundle was found with tells when it was first verified; its chain is verified at that time. A bundle
/// without one, from a bare path, is verified now: its chain must still be valid.
struct BundleRestoration: Sendable {
    let directory: DumpsDirectory
    let configuration: DumpsConfiguration
    let policy: TrustPolicy
    let now: Timestamp
    let limits: Limits

    /// Does I/O. The caller holds the directory's lock.
    ///
    /// - Returns: the lock's new entry, and whether its signature was verified as of the lock that the bundle was
    ///   found with.
    /// - Throws: ``PinError`` where the bundle cannot be believed; then nothing is changed.
    func restore(
        _ historic: HistoricBundle, _ settings: DumpsConfiguration.Collection, _ lock: LockFile
    ) async throws -> (entry: LockFile.Collection, isAsLocked: Bool) {
        let id = settings.id
        let locked: LockFile.Collection?
        let bytes: Bytes
        do {
            locked = try await historic.lockEntry()
            bytes = try await historic.contents()
        } catch {
            throw PinError.notVouchedFor(id, place: "\(historic.origin)", problem: "\(error)")
        }
        try directory.prepareWork()
        let temporary = directory.packPath(id)
        let entry: LockFile.Collection
        do {
            let file = try WritableFile(creating: temporary)
            try file.write(bytes)
            try file.finish(flushing: true)
            entry = try verified(temporary, settings, lock.collections[id], locked)
        } catch {
            try FileStore.remove(temporary)
            try directory.finishWork(keepingDownloads: true)
            throw PinError.notVouchedFor(id, place: "\(historic.origin)", problem: "\(error)")
        }
        var after = lock
        after.collections[id] = entry
        if let excess = after.excess(over: configuration.totalBudget) {
            try FileStore.remove(temporary)
            try directory.finishWork(keepingDownloads: true)
            throw CollectionError.overBudget(excess)
        }
        try directory.name(id, entry)
        try directory.writeLock(after)
        try directory.finishWork(keepingDownloads: true)
        return (entry, locked != nil && entry.trust.isSigned)
    }

    private func verified(
        _ path: String, _ settings: DumpsConfiguration.Collection, _ held: LockFile.Collection?,
        _ locked: LockFile.Collection?
    ) throws -> LockFile.Collection {
        let verifier = BundleVerifier(policy, limits: limits)
        let bundle = try BundleReader(path: path, limits: limits)
        let manifest = try bundle.verifyContents()
        if manifest.head.trust == .unsigned, !policy.acceptsUnsigned {
            throw CollectionError.configuration(
                "it is not signed; say trust: accept-unsigned: true in dumps.yaml to take what nobody signed")
        }
        if manifest.head.trust == .imported, locked == nil {
            throw CollectionError.configuration(
                "it was imported without a signature, and only a lock could vouch for it: expected DIR/dumps.lock.json for "
                    + "DIR/\(LockFile.Bundle.path(of: settings.id)), found none that speaks of it; name the whole "
                    + "directory that it is from")
        }
        try settings.budget.check(size: try FileStore.digestAndSize(of: path).size, of: manifest)
        let entry = try locked ?? entry(for: bundle, manifest, path, held, verifier)
        try verifier.verify(path, settings.id, entry)
        return entry
    }

    /// The lock's entry for a bundle that no lock came with.
    private func entry(
        for bundle: BundleReader, _ manifest: Manifest, _ path: String, _ held: LockFile.Collection?,
        _ verifier: BundleVerifier
    ) throws -> LockFile.Collection {
        let (digest, size) = try FileStore.digestAndSize(of: path)
        let found = WrittenBundle(
            size: size, sha256: digest, content: Manifest.digest(of: try bundle.manifestText()), manifest: manifest)
        return LockFile.Collection(
            found, trust: try verifier.provenance(of: bundle, at: now), server: held?.server ?? configuration.server,
            // By which rule attachments were left out is not known: the next refresh holds it against dumps.yaml's.
            attachmentRule: manifest.omissions.isEmpty ? AttachmentRule().text : "unknown")
    }
}
