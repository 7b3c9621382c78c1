import RemoteSettingsModel
import SnapshotBundle

/// An offline verifier of bundles against the lock file. It checks every byte, hash, signature and entry.
package struct BundleVerifier: Sendable {
    private let signatures: SnapshotVerifier

    var policy: TrustPolicy { signatures.policy }

    package init(_ policy: TrustPolicy) {
        signatures = SnapshotVerifier(policy)
    }

    /// Returns the bundle's snapshot, verified with its own signature as of the `verifiedAt` in the lock file.
    ///
    /// - Throws: `Failure`.
    package func snapshot(of bundle: BundleReader, as entry: LockFile.Collection) throws -> Snapshot {
        try snapshot(of: bundle, payload: bundle.payload(), as: entry)
    }

    /// Returns the bundle's verified snapshot, for a caller that has already read the payload. See
    /// ``snapshot(of:as:)``.
    package func snapshot(of bundle: BundleReader, payload: Payload, as entry: LockFile.Collection) throws -> Snapshot {
        let unverified = UnverifiedSnapshot(
            collection: bundle.head.collection, payload: payload, metadata: try bundle.metadata())
        guard let verdict = entry.trust.verdict else { return try signatures.believe(unverified, .word(entry.trust)) }
        guard let pem = try bundle.chain() else {
            throw Failure(.damaged, file: bundle.name, entry: "chain.pem", found: "the entry is missing")
        }
        let evidence = Evidence.kept(pem, verifiedAt: verdict.verifiedAt)
        let verified = try signatures.believe(unverified, evidence)
        // A bundle may have several chains. The lock file lists the root of one of them, but the configuration may
        // trust only another one.
        let claimed = SnapshotVerifier(
            TrustPolicy(roots: TrustAnchors([verdict.root]), signer: SignerName(verdict.signer)))
        guard
            verified.provenance == entry.trust
                || (try? claimed.believe(unverified, evidence))?.provenance == entry.trust
        else {
            throw Failure(
                .damaged, file: bundle.name, entry: "chain.pem",
                found:
                    "the chain does not match the lock file, which lists signer \(verdict.signer), root "
                    + "\(verdict.root), valid until \(verdict.chainNotAfter.rfc3339)")
        }
        return verified
    }

    /// Returns a bundle's provenance. A signature is verified as of `time`.
    ///
    /// - Throws: `Failure`.
    package func provenance(of bundle: BundleReader, at time: Timestamp) throws -> Provenance {
        guard let pem = try bundle.chain() else { return bundle.head.trust == .imported ? .imported : .unsigned }
        return try signatures.believe(bundle.unverifiedSnapshot(), .kept(pem, verifiedAt: time)).provenance
    }

    /// Verifies a bundle file, which is opened only once. Does I/O.
    ///
    /// - Returns: the verified bundle. Use it for all later reads, because the file at the path may be replaced in the
    ///   meantime.
    /// - Throws: `Failure` for the first problem.
    @discardableResult
    package func verify(_ path: String, of id: CollectionID, against entry: LockFile.Collection) throws -> BundleReader
    {
        // A link is not a bundle of the directory: what it leads to can change without the directory.
        guard try FileStore.size(path) != nil else { throw Failure.missingBundle(path) }
        return try verify(MappedFile(bundle: path), of: id, against: entry)
    }

    /// Verifies a bundle file that is already open. See ``verify(_:of:against:)``.
    @discardableResult
    package func verify(
        _ file: MappedFile, of id: CollectionID, against entry: LockFile.Collection
    ) throws -> BundleReader {
        try verify(
            file.path, size: file.bytes.count, of: id, against: entry, open: { try BundleReader(file) },
            digest: { file.digest() })
    }

    /// Verifies a bundle in memory. See ``verify(_:of:against:)``.
    @discardableResult
    package func verify(
        _ bytes: Bytes, name: String, of id: CollectionID, against entry: LockFile.Collection
    ) throws -> BundleReader {
        try verify(
            name, size: bytes.count, of: id, against: entry,
            open: { try BundleReader(bytes: bytes, name: name) },
            digest: { SHA256Digest(hashing: bytes) })
    }

    private func verify(
        _ path: String, size: Int, of id: CollectionID, against entry: LockFile.Collection,
        open: () throws -> BundleReader, digest: () -> SHA256Digest
    ) throws -> BundleReader {
        func differs(_ what: String, expected: String, found: String) -> Failure {
            Failure(.damaged, file: path, expected: "\(what) \(expected), as in the lock file", found: found)
        }
        guard size == entry.bundle.size else {
            if case .failure(let error as Failure) = Result(catching: open), error.cause == .largeFilePointer {
                throw error
            }
            throw differs("size", expected: "\(entry.bundle.size)", found: "\(size)")
        }
        let bundle = try open()
        let (manifest, payload) = try bundle.verifiedContents()
        // Check the contents before the file's hash, because their errors state which part is damaged.
        let digest = digest()
        guard digest == entry.bundle.sha256 else {
            throw differs("SHA-256", expected: "\(entry.bundle.sha256)", found: "\(digest)")
        }
        let content = Manifest.digest(of: try bundle.manifestText())
        guard content == entry.content else {
            throw differs("content", expected: "\(entry.content)", found: "\(content)")
        }
        let head = manifest.head
        guard head.collection == id else { throw differs("collection", expected: "\(id)", found: "\(head.collection)") }
        guard head.timestamp == entry.timestamp else {
            throw differs("timestamp", expected: "\(entry.timestamp)", found: "\(head.timestamp)")
        }
        guard head.records == entry.records, head.attachments == entry.attachments, manifest.omissions == entry.omitted
        else {
            throw differs(
                "a bundle with",
                expected:
                    "\(Counted.text(entry.records, "record")) and \(Counted.text(entry.attachments, "attachment"))",
                found: "\(head.records) and \(head.attachments), or other omitted attachments")
        }
        guard head.trust == entry.trust.kind else {
            throw differs("trust", expected: entry.trust.kind.rawValue, found: head.trust.rawValue)
        }
        _ = try snapshot(of: bundle, payload: payload, as: entry)
        return bundle
    }
}
