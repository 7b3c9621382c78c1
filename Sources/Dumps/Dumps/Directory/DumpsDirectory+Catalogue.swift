import RemoteSettingsModel
import SnapshotBundle

extension DumpsDirectory {
    /// Returns a bundle's state as a catalogue would list it. Reads only the manifest, and inflates nothing. Does I/O.
    ///
    /// - Parameter path: the path of the bundle; `nil` for its usual path.
    /// - Throws: `BundleError` if the bundle cannot be read, or is not the one that `entry` describes.
    package func listedState(
        of id: CollectionID, _ entry: LockFile.Collection, at path: String? = nil, limits: Limits
    ) throws(BundleError) -> Catalogue.Entry {
        let bundle = try BundleReader(path: path ?? bundlePath(id), limits: limits)
        let content = Manifest.digest(of: try bundle.manifestText())
        guard content == entry.content else {
            throw BundleError(
                .damaged, file: bundle.name, expected: "the content \(entry.content), as in the lock file",
                found: content.hex)
        }
        return try bundle.listedState()
    }

    /// Checks that the lock file matches the catalogue's bundle: its bytes, its signature and, if the root is trusted,
    /// its number. Does I/O.
    ///
    /// Without this check, a publisher could continue from an outdated catalogue and sign the same number twice.
    ///
    /// - Parameter roots: the trusted roots; `nil` to trust the root that the lock file lists.
    /// - Throws: `BundleError`, for example if the lock file and the bundle disagree.
    package func checkCatalogue(_ lock: LockFile, roots: TrustAnchors?, limits: Limits) throws {
        let path = bundlePath(Catalogue.collection)
        guard let entry = lock.collections[Catalogue.collection] else {
            guard try FileStore.kind(path) == nil, lock.catalogue == nil else {
                throw BundleError(
                    .damaged, file: lockPath,
                    found: "the entry for \(path) is missing")
            }
            return
        }
        let claimed = entry.trust.verdict.map { verdict in
            TrustPolicy(roots: TrustAnchors([verdict.root]), signer: SignerName(verdict.signer))
        }
        try BundleVerifier(claimed ?? TrustPolicy(roots: TrustAnchors([])), limits: limits)
            .verify(path, of: Catalogue.collection, against: entry)
        let isTrusted = entry.trust.verdict.map { roots?.roots.contains($0.root) ?? true } ?? false
        guard isTrusted, let listed = lock.catalogue else { return }
        let found = LockFile.CatalogueReference(
            try Catalogue(BundleReader(path: path, limits: limits).payload().records))
        guard listed != found else { return }
        throw BundleError(
            .damaged, file: lockPath, expected: "catalogue \(found.number) of \(found.publisher), as in \(path)",
            found: "\(listed.number) of \(listed.publisher)")
    }

    /// Returns the packaged catalogue, verified as of the time in the lock file; `nil` if there is none. Does I/O.
    ///
    /// - Throws: `BundleError`, for example if its certificate chain does not lead to a root that the verifier trusts.
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
    /// Returns the bundle's state as a catalogue would list it. Reads only the manifest, and inflates nothing.
    ///
    /// - Throws: `BundleError` if the manifest cannot be read.
    func listedState() throws(BundleError) -> Catalogue.Entry {
        let manifest = try manifest()
        return Catalogue.Entry(
            timestamp: manifest.head.timestamp, payload: manifest.entries[0].sha256, records: manifest.head.records)
    }
}

extension LockFile.CatalogueReference {
    init(_ catalogue: Catalogue) { self.init(publisher: catalogue.publisher, number: catalogue.number) }
}
