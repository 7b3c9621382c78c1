import ContentSignature
import FileStorage
import RemoteSettingsModel
import SnapshotBundle

/// Verifies a bundle against the lock: every byte, hash, signature and entry again, offline.
public struct BundleVerifier: Sendable {
    private let signatures: KeptSnapshotVerifier
    private let limits: Limits

    /// - Parameter signer: the leaf certificate's name, where it is not Mozilla's for the bucket.
    public init(roots: TrustAnchors, signer: String?, limits: Limits) {
        signatures = KeptSnapshotVerifier(roots: roots, signer: signer, limits: limits)
        self.limits = limits
    }

    /// The bundle's snapshot, vouched for by the signature inside at the time that the lock keeps.
    ///
    /// - Throws: `BundleError` or `ContentSignatureError`.
    package func snapshot(of bundle: BundleReader, _ entry: LockFile.Collection) throws -> Snapshot {
        let unverified = try bundle.unverifiedSnapshot()
        switch entry.trust {
        case .unsigned: return Snapshot(vouchingFor: unverified, chain: nil, provenance: .unsigned)
        case .imported: return Snapshot(vouchingFor: unverified, chain: nil, provenance: .imported)
        case .signed(let signature):
            guard let pem = try bundle.chain() else {
                throw BundleError(
                    .disagreement, file: bundle.name, entry: "chain.pem", expected: "a chain", found: "none")
            }
            let verified = try signatures.verified(unverified, chain: pem, at: signature.verifiedAt)
            guard case .signed(let verdict) = verified.provenance, LockFile.Signature(verdict) == signature else {
                throw BundleError(
                    .disagreement, file: bundle.name, entry: "chain.pem",
                    expected: "signer \(signature.signer), root \(signature.root), valid until "
                        + "\(signature.chainNotAfter.rfc3339), as the lock says", found: "another")
            }
            return verified
        }
    }

    /// What vouches for a bundle, its chain being verified at `time`.
    ///
    /// - Throws: `BundleError` or `ContentSignatureError`.
    package func trust(of bundle: BundleReader, at time: Timestamp) throws -> LockFile.Trust {
        guard let pem = try bundle.chain() else { return bundle.head.trust == .imported ? .imported : .unsigned }
        return .init(try signatures.verified(bundle.unverifiedSnapshot(), chain: pem, at: time).provenance)
    }

    /// Reads and checks everything; does I/O.
    ///
    /// - Throws: `BundleError` or `ContentSignatureError` for the first thing that is wrong.
    public func verify(_ path: String, _ id: CollectionID, _ entry: LockFile.Collection) throws {
        guard let size = FileStore.size(path) else {
            throw BundleError(.unreadable, file: path, expected: "a bundle, as the lock says", found: "no regular file")
        }
        func differs(_ what: String, _ expected: String, _ found: String) -> BundleError {
            BundleError(.disagreement, file: path, expected: "\(what) \(expected), as the lock says", found: found)
        }
        guard size == entry.bundle.size else { throw differs("a size of", "\(entry.bundle.size)", "\(size)") }
        let bundle = try BundleReader(path: path, limits: limits)
        let manifest = try bundle.verifyContents()
        // The contents come first: they say what is damaged, where the hash of the file only says that something is.
        let digest = try FileStore.digest(of: path)
        guard digest == entry.bundle.sha256 else { throw differs("SHA-256", "\(entry.bundle.sha256)", "\(digest)") }
        let content = Manifest.digest(of: try bundle.manifestText())
        guard content == entry.content else { throw differs("content", "\(entry.content)", "\(content)") }
        let head = manifest.head
        guard head.collection == id else { throw differs("collection", "\(id)", "\(head.collection)") }
        guard head.timestamp == entry.timestamp else {
            throw differs("timestamp", "\(entry.timestamp)", "\(head.timestamp)")
        }
        guard head.records == entry.records, head.attachments == entry.attachments, manifest.omissions == entry.omitted
        else {
            throw differs(
                "counts of",
                "\(Counted.text(entry.records, "record")) and \(Counted.text(entry.attachments, "attachment"))",
                "\(head.records) and \(head.attachments), or other omissions")
        }
        let isAsLocked =
            switch (entry.trust, head.trust) {
            case (.signed, .signed), (.unsigned, .unsigned), (.imported, .imported): true
            default: false
            }
        guard isAsLocked else { throw differs("trust", "\(entry.trust)", head.trust.rawValue) }
        _ = try snapshot(of: bundle, entry)
    }
}
