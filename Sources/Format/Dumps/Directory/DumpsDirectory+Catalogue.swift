import RemoteSettingsModel
import SnapshotBundle
import SnapshotTrust

extension DumpsDirectory {
    /// A bundle's state as a catalogue lists it. It comes from the bundle's manifest; nothing is inflated. Does I/O.
    ///
    /// - Parameter isPacked: whether the bundle is still at ``packPath(_:)``.
    /// - Throws: `BundleError` if the bundle cannot be read, or is not the one that `entry` describes.
    package func listedState(
        of id: CollectionID, _ entry: LockFile.Collection, isPacked: Bool = false, limits: Limits
    ) throws(BundleError) -> Catalogue.Entry {
        let bundle = try BundleReader(path: isPacked ? packPath(id) : bundlePath(id), limits: limits)
        let content = Manifest.digest(of: try bundle.manifestText())
        guard content == entry.content else {
            throw BundleError(
                .disagreement, file: bundle.name, expected: "the content \(entry.content), as the lock says",
                found: content.hex)
        }
        return try bundle.listedState()
    }

    /// The packaged catalogue, as the lock names it; `nil` if there is no catalogue. Nothing is verified. Does I/O.
    ///
    /// - Throws: `BundleError`, or `CatalogueError` if the bundle has no catalogue.
    package func packagedCatalogue(_ lock: LockFile, limits: Limits) throws -> LockFile.CatalogueReference? {
        guard lock.collections[Catalogue.collection] != nil else { return nil }
        let bundle = try BundleReader(path: bundlePath(Catalogue.collection), limits: limits)
        let catalogue = try Catalogue(bundle.payload().records)
        return LockFile.CatalogueReference(publisher: catalogue.publisher, number: catalogue.number)
    }

    /// Checks that the lock file describes the catalogue's bundle: its bytes, what it claims about the signature, and
    /// the number, unless the root is not trusted. Does I/O.
    ///
    /// A publisher that continued from another catalogue than the newest one would sign a number twice.
    ///
    /// - Parameter roots: the trusted roots; `nil` to trust what the lock file claims.
    /// - Throws: `BundleError`, `FileError` or `ContentSignatureError` if they disagree; `CatalogueError`.
    package func checkCatalogue(_ lock: LockFile, roots: TrustAnchors?, limits: Limits) throws {
        let path = bundlePath(Catalogue.collection)
        guard let entry = lock.collections[Catalogue.collection] else {
            guard try FileStore.kind(path) == nil, lock.catalogue == nil else {
                throw BundleError(
                    .disagreement, file: lockPath,
                    expected: "an entry for \(path), because the directory has catalogues", found: "none")
            }
            return
        }
        let claimed = entry.trust.verdict.map { verdict in
            TrustPolicy(roots: TrustAnchors([verdict.root]), signer: SignerName(verdict.signer))
        }
        try BundleVerifier(claimed ?? TrustPolicy(roots: TrustAnchors([])), limits: limits)
            .verify(path, of: Catalogue.collection, against: entry)
        let isTrusted = entry.trust.verdict.map { roots?.roots.contains($0.root) ?? true } ?? false
        guard isTrusted, let listed = lock.catalogue, let found = try packagedCatalogue(lock, limits: limits),
            listed != found
        else { return }
        throw BundleError(
            .disagreement, file: lockPath, expected: "catalogue \(found.number) of \(found.publisher), as in \(path)",
            found: "\(listed.number) of \(listed.publisher)")
    }

    /// The packaged catalogue, verified at the time in the lock; `nil` if there is none. Does I/O.
    ///
    /// - Throws: `BundleError`, `CatalogueError`, or `ContentSignatureError` if its chain does not end at a root that
    ///   the verifier trusts.
    package func packagedCatalogue(
        _ lock: LockFile, by verifier: BundleVerifier, limits: Limits
    ) throws -> VerifiedCatalogue? {
        guard let entry = lock.collections[Catalogue.collection] else { return nil }
        let bundle = try BundleReader(path: bundlePath(Catalogue.collection), limits: limits)
        return try VerifiedCatalogue(
            verifier.snapshot(of: bundle, as: entry), roots: verifier.policy.roots, limits: limits)
    }
}

extension BundleReader {
    /// The bundle's state as a catalogue lists it, from the manifest; nothing is inflated.
    ///
    /// - Throws: `BundleError` if the manifest cannot be read.
    func listedState() throws(BundleError) -> Catalogue.Entry {
        let manifest = try manifest()
        return Catalogue.Entry(
            timestamp: manifest.head.timestamp, payload: manifest.entries[0].sha256, records: manifest.head.records)
    }
}

extension DumpsDirectory {
    private var togetherPath: String { "\(path)/\(LockFile.togetherPath)" }

    /// Replaces the bundles of one catalogue with the finished ones.
    ///
    /// They belong to the directory as soon as a note that lists all of them is on the disk. If the process is killed
    /// during the renames, ``finishReplacing(limits:)`` completes them. The caller holds the directory's lock. It also
    /// writes the lock file afterwards, which flushes the names to the disk.
    ///
    /// - Parameter catalogue: the catalogue that the directory has afterwards.
    package func replaceBundles(
        with entries: [CollectionID: LockFile.Collection], catalogue: LockFile.CatalogueReference?
    ) throws(FileError) {
        guard !entries.isEmpty else { return }
        let sorted = entries.sorted { $0.key < $1.key }
        // A bundle that has its name before its lock entry is explained only by its own note.
        for (id, entry) in sorted { try writePending(id, entry) }
        try FileStore.replace(
            togetherPath, below: path, with: Bytes(LockFile(collections: entries, catalogue: catalogue).text),
            limit: Limits.lockBytes)
        for (id, _) in sorted {
            try FileStore.rename(packPath(id), to: bundlePath(id), below: path, flushing: false)
        }
    }

    /// The bundles that a killed run had begun to rename as one set; `nil` if there are none.
    func bundlesReplacedTogether(limits: Limits) throws -> LockFile? {
        guard let bytes = try FileStore.read(togetherPath, limit: Limits.lockBytes) else { return nil }
        // After a failure of the machine, the note may be incomplete. No bundle has been renamed in that case.
        return try? LockFile(parsing: bytes, path: togetherPath, limits: limits)
    }

    /// The lock for a reader that does not hold the directory's lock. It only ever names whole catalogues: as soon as
    /// the bundles of a new catalogue are packed and noted, it names all of them, whether or not they have been
    /// renamed. Reads files; writes none.
    ///
    /// - Returns: the lock, and the collections whose bundle may still be at ``packPath(_:)``. A bundle that is no
    ///   longer there has been renamed since.
    /// - Throws: `FileError` or `BundleError` if the lock or a note cannot be read.
    package func readableLock(limits: Limits) throws -> (lock: LockFile, packed: Set<CollectionID>) {
        guard let noted = try bundlesReplacedTogether(limits: limits) else {
            return (try recoveredLock(limits: limits).lock, [])
        }
        var lock = try lockFile(limits: limits)
        var packed: Set<CollectionID> = []
        for (id, entry) in noted.collections where lock.collections[id] != entry {
            // The final name is tried last, so that a bundle renamed at this moment is found there.
            if try isBundle(at: packPath(id), entry) {
                packed.insert(id)
            } else {
                guard try isBundle(at: bundlePath(id), entry) else {
                    return (try recoveredLock(limits: limits).lock, [])
                }
            }
            lock.collections[id] = entry
        }
        if let catalogue = noted.catalogue { lock.catalogue = catalogue }
        return (lock, packed)
    }

    private func isBundle(at path: String, _ entry: LockFile.Collection) throws(FileError) -> Bool {
        guard try FileStore.size(path) == entry.bundle.size else { return false }
        do throws(FileError) {
            return try FileStore.digest(of: path) == entry.bundle.sha256
        } catch {
            // The file has been renamed into place since.
            guard try FileStore.size(path) == nil else { throw error }
            return false
        }
    }

    /// Completes the renames that a killed run had begun. The caller holds the directory's lock. Does I/O.
    ///
    /// - Throws: `FileError`. Nothing is lost in that case.
    package func finishReplacing(limits: Limits) throws {
        guard let noted = try bundlesReplacedTogether(limits: limits) else { return }
        for (id, entry) in noted.collections.sorted(by: { $0.key < $1.key }) {
            let packed = packPath(id)
            guard try isBundle(at: packed, entry) else { continue }
            try FileStore.rename(packed, to: bundlePath(id), below: path, flushing: false)
        }
    }
}
