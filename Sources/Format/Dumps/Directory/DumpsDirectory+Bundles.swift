import RemoteSettingsModel
import SnapshotBundle
import SnapshotTrust

extension DumpsDirectory {
    /// Reads the lock, and adds the bundles of an interrupted refresh. Writes no file.
    ///
    /// A note becomes a lock entry if it describes the bundle's file.
    ///
    /// - Throws: ``FileError`` or `BundleError` if the lock or a note cannot be read.
    package func recoveredLock(limits: Limits) throws -> (lock: LockFile, recovered: [CollectionID]) {
        var lock = try lockFile(limits: limits)
        var recovered: [CollectionID] = []
        for (id, entry) in try pendingEntries(limits: limits).sorted(by: { $0.key < $1.key })
        where lock.collections[id] != entry {
            let path = bundlePath(id)
            guard try FileStore.size(path) == entry.bundle.size,
                try FileStore.digest(of: path) == entry.bundle.sha256
            else { continue }
            lock.collections[id] = entry
            recovered.append(id)
        }
        if let together = try bundlesReplacedTogether(limits: limits), let catalogue = together.catalogue,
            together.collections.allSatisfy({ lock.collections[$0.key] == $0.value })
        {
            lock.catalogue = catalogue
        }
        return (lock, recovered)
    }

    /// Packs a snapshot at ``packPath(_:)``, checks the bundle against the budget and reads it back. Does I/O.
    ///
    /// - Parameters:
    ///   - records: the snapshot's payload, if it was already compressed.
    ///   - server: the URL of the server that the snapshot came from, or the source of an import.
    ///   - flushing: see `OutputFile.create`.
    /// - Returns: the bundle's future lock entry.
    /// - Throws: `BudgetExcess`, `BundleError` or ``FileError``, after removing the bundle.
    package func pack(
        _ snapshot: Snapshot, attachments: [SHA256Digest: AttachmentInput], records: PackedRecords? = nil,
        settings: DumpsConfiguration.Collection, server: String, limits: Limits,
        flushing: Bool = true
    ) throws -> LockFile.Collection {
        let path = packPath(snapshot.collection)
        try FileStore.remove(path)
        do {
            let writer = BundleWriter(
                snapshot, attachments: attachments, compression: settings.compression, packedRecords: records,
                limits: limits)
            let written = try writer.write(toNewFile: path, flushing: flushing)
            try settings.budget.check(size: written.size, of: written.manifest)
            try BundleReader(path: path, limits: limits)
                .verifyContents(of: snapshot.payload, content: written.content)
            return LockFile.Collection(
                written, trust: snapshot.provenance, server: server, attachmentRule: settings.attachments.text)
        } catch {
            try? FileStore.remove(path)
            throw error
        }
    }

    /// Renames a finished bundle into place. Its future lock entry is written as a note first.
    ///
    /// The later write of the lock flushes the name to the disk.
    package func replaceBundle(of id: CollectionID, with entry: LockFile.Collection) throws(FileError) {
        try writePending(id, entry)
        try FileStore.rename(packPath(id), to: bundlePath(id), below: path, flushing: false)
    }
}

/// A bundle, opened once. All later reads use this open file, because its path may lead to another file by then.
package struct BundleAtHand: Sendable {
    package let file: MappedFile
    package let reader: BundleReader

    /// Opens a bundle and checks its structure, not its contents. Does I/O.
    package init(path: String, limits: Limits) throws(BundleError) {
        file = try MappedFile(path: path)
        reader = try BundleReader(file, limits: limits)
    }

    /// Whether it has the content of `entry`, however compressed, and is the file that its lock entry `held` describes.
    /// Reads the whole file if the entries agree.
    package func isFile(of entry: LockFile.Collection, lockedAs held: LockFile.Collection) -> Bool {
        guard held.content == entry.content, file.bytes.count == held.bundle.size,
            file.digest() == held.bundle.sha256
        else { return false }
        // The bytes of `entry` have just been verified. Other bytes may come from somebody who adapted the lock to
        // them.
        return held.bundle == entry.bundle || (try? reader.verifyContents()) != nil
    }
}

extension DumpsDirectory {
    /// Opens the named bundles, or all bundles of the lock, sorted by collection. Reads every byte of them.
    ///
    /// Each bundle must hold exactly the content that the lock names. Signatures are not verified; `rsdump verify` does
    /// that.
    ///
    /// - Parameter keepingCatalogue: whether to include the catalogue that names the states of the bundles.
    /// - Throws: ``DumpsError`` if a name is not in the lock, or if the lock lists no bundles; `BundleError` or
    ///   `FileError`.
    package func lockedBundles(
        _ names: [CollectionID], keepingCatalogue: Bool = false, limits: Limits
    ) throws -> [BundleReader] {
        let lock = try lockFile(limits: limits)
        let unknown = names.filter { lock.collections[$0] == nil }
        guard unknown.isEmpty else { throw DumpsError.notLocked(unknown, lockPath) }
        guard !lock.collections.isEmpty else { throw DumpsError.nothingLocked(lockPath) }
        let unlisted = try unlistedCollections(lock)
        guard unlisted.isEmpty else { throw DumpsError.unlisted(unlisted, configurationPath) }
        var wanted = names.isEmpty ? Set(lock.collections.keys) : Set(names)
        if keepingCatalogue, lock.catalogue != nil, lock.collections[Catalogue.collection] != nil {
            wanted.insert(Catalogue.collection)
        }
        return try wanted.sorted().map { id in
            let bundle = try BundleReader(path: bundlePath(id), limits: limits)
            try bundle.verifyContents()
            let content = Manifest.digest(of: try bundle.manifestText())
            guard bundle.head.collection == id, content == lock.collections[id]?.content else {
                throw BundleError(
                    .disagreement, file: bundle.name, expected: "the content that the lock names for \(id)",
                    found: content.hex)
            }
            return bundle
        }
    }
}
