import Catalogue
import ContentSignature
import FileStorage
import RemoteSettingsModel
import SnapshotBundle

extension DumpsDirectory {
    /// A bundle's state as a catalogue lists it, from the bundle's manifest: nothing is inflated. Does I/O.
    ///
    /// - Parameter isPacked: whether the bundle waits at ``packPath(_:)`` for its name.
    /// - Throws: `BundleError` if the bundle cannot be read, or is not the one that `entry` is of.
    package func listedState(
        of id: CollectionID, _ entry: LockFile.Collection, isPacked: Bool = false, limits: Limits
    ) throws(BundleError) -> Catalogue.Entry {
        let bundle = try BundleReader(path: isPacked ? packPath(id) : bundlePath(id), limits: limits)
        let text = try bundle.manifestText()
        let content = Manifest.digest(of: text)
        guard content == entry.content else {
            throw BundleError(
                .disagreement, file: bundle.name, expected: "the content \(entry.content), as the lock says",
                found: content.hex)
        }
        let manifest = try Manifest(parsing: text, file: bundle.name, limits: limits)
        return Catalogue.Entry(
            timestamp: manifest.head.timestamp, payload: manifest.entries[0].sha256, records: manifest.head.records)
    }

    /// Which release the packaged catalogue says that it is; `nil` if there is none. Nothing is verified. Does I/O.
    ///
    /// - Throws: `BundleError`, or `CatalogueError` if the bundle has no catalogue.
    package func packagedRelease(_ lock: LockFile, limits: Limits) throws -> LockFile.Release? {
        guard lock.collections[Catalogue.collection] != nil else { return nil }
        let bundle = try BundleReader(path: bundlePath(Catalogue.collection), limits: limits)
        let catalogue = try Catalogue(bundle.payload().records)
        return LockFile.Release(origin: catalogue.origin, number: catalogue.number)
    }

    /// The packaged catalogue, verified at the time in the lock; `nil` if there is none. Does I/O.
    ///
    /// - Throws: `BundleError`, `CatalogueError`, or `ContentSignatureError` if no root that the verifier trusts vouches for it.
    package func packagedCatalogue(
        _ lock: LockFile, by verifier: BundleVerifier, limits: Limits
    ) throws -> VerifiedCatalogue? {
        guard let entry = lock.collections[Catalogue.collection] else { return nil }
        let bundle = try BundleReader(path: bundlePath(Catalogue.collection), limits: limits)
        return try VerifiedCatalogue(verifier.snapshot(of: bundle, as: entry), limits: limits)
    }
}

extension DumpsDirectory {
    /// The note on bundles that are given their names together. Ids have no dots, and notes on single bundles have one in their
    /// names, so that no such note has this one.
    private var togetherPath: String { "\(path)/\(LockFile.notes)/release.json" }

    /// Gives finished bundles of one release their names. From the moment at which a note on all of them is on the disk, they
    /// are the directory's: where the process is killed among the renames, ``finishNaming(limits:)`` goes on with them. The
    /// caller holds the directory's lock, and writes the lock file, which flushes the names to the disk.
    ///
    /// - Parameter release: the release that the directory then has.
    package func name(
        _ entries: [CollectionID: LockFile.Collection], release: LockFile.Release?
    ) throws(FileError) {
        guard !entries.isEmpty else { return }
        let sorted = entries.sorted { $0.key < $1.key }
        // Readers that meet a bundle before its entry is in the lock look for the note on it alone.
        for (id, entry) in sorted { try writePending(id, entry) }
        try FileStore.replace(
            togetherPath, below: path, with: Bytes(LockFile(collections: entries, release: release).text))
        for (id, _) in sorted {
            try FileStore.rename(packPath(id), to: bundlePath(id), below: path, flushing: false)
        }
    }

    /// What a killed run had begun to name together; `nil` if there is nothing of the kind.
    func bundlesNamedTogether(limits: Limits) throws -> LockFile? {
        guard let bytes = try FileStore.read(togetherPath, limit: limits.lockBytes) else { return nil }
        // A failure of the machine may have left half a note: then no bundle has got its name.
        return try? LockFile(parsing: bytes, path: togetherPath, limits: limits)
    }

    /// Gives the bundles that a killed run had begun to name together the names that are missing. The caller holds the
    /// directory's lock. Does I/O.
    ///
    /// - Throws: `FileError`; nothing is lost then.
    package func finishNaming(limits: Limits) throws {
        guard let noted = try bundlesNamedTogether(limits: limits) else { return }
        for (id, entry) in noted.collections.sorted(by: { $0.key < $1.key }) {
            let packed = packPath(id)
            guard try FileStore.size(packed) == entry.bundle.size,
                try FileStore.digest(of: packed) == entry.bundle.sha256
            else { continue }
            try FileStore.rename(packed, to: bundlePath(id), below: path, flushing: false)
        }
    }
}
