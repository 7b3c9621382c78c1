#if Lab
import Foundation
import RemoteSettingsModel
import SnapshotBundle

/// What is worked upon: a directory that `rsdump refresh` wrote, and the changesets that the server answered.
struct Input {
    struct Collection {
        let id: CollectionID
        let entry: LockFile.Collection
        let bundle: BundleReader
        /// The changeset as served.
        let served: Bytes
        /// The same with its keys in disorder, `/` as `\/` and what is not ASCII as `\u…`.
        let disordered: Bytes
        let changeset: Changeset
        /// Verified, at the time that the lock keeps.
        let snapshot: Snapshot
        let chain: VerifiedChain
    }

    let collections: [Collection]
    let limits = Limits()

    /// - Parameters:
    ///   - dumps: has `dumps.lock.json` and the bundles.
    ///   - changesets: has `served/BUCKET/COLLECTION.json` and `disordered/BUCKET/COLLECTION.json`.
    init(dumps: String, changesets: String) throws {
        let limits = limits
        let lock = try LockFile(
            parsing: Self.read("\(dumps)/dumps.lock.json"), path: "\(dumps)/dumps.lock.json", limits: limits)
        collections = try lock.collections.sorted { "\($0.key)" < "\($1.key)" }.map { id, entry in
            guard case .signed(let signature) = entry.trust else { throw BenchmarkError("\(id) is not signed") }
            let bundle = try BundleReader(path: "\(dumps)/\(entry.bundle.path)", limits: limits)
            let (snapshot, chain) = try Self.snapshot(of: bundle, signature, limits: limits)
            let served = try Self.read("\(changesets)/served/\(id).json")
            return Collection(
                id: id, entry: entry, bundle: bundle, served: served,
                disordered: try Self.read("\(changesets)/disordered/\(id).json"),
                changeset: try Changeset(parsing: served, limits: limits), snapshot: snapshot, chain: chain)
        }
    }

    /// The collection with the most attachments.
    func largest() throws -> Collection {
        guard let largest = collections.max(by: { $0.entry.attachments < $1.entry.attachments }) else {
            throw BenchmarkError("there is no collection")
        }
        return largest
    }

    /// What a bundle holds, verified at the time that the lock keeps.
    static func snapshot(
        of bundle: BundleReader, _ signature: SignatureVerdict, limits: Limits
    ) throws -> (snapshot: Snapshot, chain: VerifiedChain) {
        guard let pem = try bundle.chain() else { throw BenchmarkError("\(bundle.name) has no chain") }
        let chain = try CertificateChain(pem: pem, limits: limits).verified(
            anchors: TrustAnchors([signature.root]), signer: SignerName(signature.signer), at: signature.verifiedAt)
        let unverified = try bundle.unverifiedSnapshot()
        let snapshot = try unverified.verified(
            with: Dictionary(unverified.signatures.map { ($0.x5u, .success(chain)) }) { first, _ in first },
            signer: chain.signer, limits: limits)
        return (snapshot, chain)
    }

    /// A bundle's attachments, for another bundle.
    static func attachments(of bundle: BundleReader) throws -> [SHA256Digest: AttachmentInput] {
        var sources: [SHA256Digest: AttachmentInput] = [:]
        for file in try bundle.manifest().files {
            sources[file.sha256] = file.omitted.map { .omitted($0) } ?? .bundle(bundle)
        }
        return sources
    }

    private static func read(_ path: String) throws -> Bytes {
        Bytes([UInt8](try Data(contentsOf: URL(filePath: path))))
    }
}

struct BenchmarkError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
#endif
