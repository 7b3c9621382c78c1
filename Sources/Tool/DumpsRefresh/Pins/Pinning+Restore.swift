import Dumps
import RemoteSettingsModel
import SnapshotBundle
import SnapshotTrust

extension Pinning {
    /// Replaces the current bundle by an older one, after verifying it like any bundle. Does I/O. The caller holds the
    /// directory's lock.
    ///
    /// If the older bundle comes with a lock, its chain is verified at the `verifiedAt` of that lock. A bundle without
    /// a lock is verified at the current time: its chain must still be valid.
    ///
    /// - Parameter isForeign: whether the bundle comes from outside of the directory's own history. An unsigned one
    ///   then does not replace a signed one unless the configuration accepts unsigned collections.
    /// - Returns: the lock's new entry, and whether its signature was verified at the time in the older bundle's own
    ///   lock.
    /// - Throws: ``PinError`` if the bundle cannot be verified; nothing is changed then.
    func restore(
        _ historic: HistoricBundle, isForeign: Bool, settings: DumpsConfiguration.Collection, lock: LockFile
    ) async throws -> (entry: LockFile.Collection, isAsLocked: Bool) {
        let id = settings.id
        func unusable(_ error: any Error) -> any Error {
            if error.isOfMachine { return error }
            return PinError.notVouchedFor(id, place: "\(historic.origin)", problem: "\(error)")
        }
        let locked: LockFile.Collection?
        let bytes: Bytes
        do {
            locked = try await historic.lockEntry()
            bytes = try await historic.contents()
        } catch {
            throw unusable(error)
        }
        try directory.prepareWork()
        let temporary = directory.packPath(id)
        // If the bundle has its name but the lock could not be written, the note stays, and the next run takes the
        // bundle over.
        var isNamed = false
        defer { if !isNamed { try? directory.finishWork(keepingDownloads: true) } }
        let entry: LockFile.Collection
        do {
            let file = try WritableFile(creating: temporary)
            try file.write(bytes)
            try file.finish(flushing: true)
            entry = try verified(
                temporary, isForeign: isForeign, settings: settings, held: lock.collections[id], locked: locked)
        } catch {
            throw unusable(error)
        }
        var after = lock
        after.collections[id] = entry
        if let excess = after.excess(over: configuration.totalBudget) { throw CollectionError.overBudget(excess) }
        isNamed = true
        try directory.replaceBundle(of: id, with: entry)
        try directory.writeLock(after)
        try directory.finishWork(keepingDownloads: true)
        return (entry, locked != nil && entry.trust.isSigned)
    }

    private func verified(
        _ path: String, isForeign: Bool, settings: DumpsConfiguration.Collection, held: LockFile.Collection?,
        locked: LockFile.Collection?
    ) throws -> LockFile.Collection {
        let verifier = BundleVerifier(policy, limits: limits)
        let bundle = try BundleReader(path: path, limits: limits)
        let manifest = try bundle.verifyContents()
        let losesSignature = held?.trust.isSigned == true && manifest.head.trust != .signed
        if manifest.head.trust == .unsigned || isForeign && losesSignature, !policy.acceptsUnsigned {
            throw CollectionError.configuration(
                "it is not signed" + (losesSignature ? ", and the current bundle is" : "")
                    + "; to accept unsigned collections, write trust: accept-unsigned: true in dumps.yaml")
        }
        if manifest.head.trust == .imported, locked == nil {
            throw CollectionError.configuration(
                "it was imported without a signature, and there is no DIR/dumps.lock.json that vouches for "
                    + "DIR/\(LockFile.Bundle.path(of: settings.id)); give --from the whole directory that it is from")
        }
        try settings.budget.check(size: try FileStore.digestAndSize(of: path).size, of: manifest)
        let entry = try locked ?? entry(for: bundle, manifest: manifest, path: path, held: held, verifier: verifier)
        try verifier.verify(path, of: settings.id, against: entry)
        return entry
    }

    /// The lock entry for a bundle that has no lock.
    private func entry(
        for bundle: BundleReader, manifest: Manifest, path: String, held: LockFile.Collection?,
        verifier: BundleVerifier
    ) throws -> LockFile.Collection {
        let (digest, size) = try FileStore.digestAndSize(of: path)
        let found = WrittenBundle(
            size: size, sha256: digest, content: Manifest.digest(of: try bundle.manifestText()), manifest: manifest)
        return LockFile.Collection(
            found, trust: try verifier.provenance(of: bundle, at: now), server: held?.server ?? configuration.server,
            // The rule that left attachments out is unknown, so the next refresh finds that it differs from dumps.yaml.
            attachmentRule: manifest.omissions.isEmpty ? AttachmentRule().text : "unknown")
    }
}
