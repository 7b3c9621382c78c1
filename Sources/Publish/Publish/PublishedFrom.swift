import RemoteSettingsModel
import SnapshotBundle

/// The inputs of a published state. If two values are equal, there is nothing to publish.
struct PublishedFrom: Hashable {
    /// The chain of a signature, and the URL from which clients fetch that chain.
    struct Signature: Hashable {
        /// The hash of the signing key's chain; `nil` if the bundle has no chain for the signature.
        var chain: SHA256Digest?
        var root: SHA256Digest?
        /// The validity period of the chain.
        var validity: ClosedRange<Timestamp>?
        /// The URL from which clients fetch the chain.
        var url: String
    }

    /// The SHA-256 of the records with their timestamp.
    var payload: SHA256Digest
    /// The members of the metadata that come from source files.
    var metadata: Set<JSONValue.Member>
    var signatures: [Signature]
    /// The server from which apps sync the collection.
    var server: String
    var attachmentRule: String
    /// Whether the bundle lacks attachments that the rule requires.
    var isMissingAttachments: Bool
}

extension PublishedFrom {
    /// Reads the inputs of a bundle's state.
    init(_ snapshot: Snapshot, _ entry: LockFile.Collection) throws(Failure) {
        payload = SHA256Digest(hashing: snapshot.payload.bytes)
        metadata = Set(try snapshot.metadata.writtenMembers())
        signatures = snapshot.signatureChains().map { signature, chain in
            chain.map { Signature($0, url: signature.x5u) } ?? Signature(url: signature.x5u)
        }
        server = entry.server
        attachmentRule = entry.attachmentRule
        isMissingAttachments = entry.omitted.contains { $0.reason == .notImported }
    }

    /// Collects the inputs of the next state.
    init(_ state: NextState, _ signatures: [Signature], server: String, rule: String)
        throws(Failure)
    {
        payload = SHA256Digest(hashing: state.payload.bytes)
        metadata = Set(try state.metadata.writtenMembers())
        self.signatures = signatures
        self.server = server
        attachmentRule = rule
        isMissingAttachments = false
    }

    /// Returns whether the signatures of `other` differ only in renewed keys, and the signatures here are all still
    /// valid. The roots must be the same. The URLs of the chains must be the same, or both derived from the chains.
    func isRenewed(by other: PublishedFrom, at time: Timestamp) -> Bool {
        signatures.count == other.signatures.count
            && zip(signatures, other.signatures).allSatisfy { old, new in
                guard let root = old.root, root == new.root, old.validity?.contains(time) == true else { return false }
                return old.url == new.url || (old.hasOwnURL && new.hasOwnURL)
            }
    }
}

extension PublishedFrom.Signature {
    /// Describes a signature with this chain.
    ///
    /// - Parameter url: the URL of the chain; `nil` if the server of the collection also serves the chain.
    init(_ chain: VerifiedChain, url: String? = nil) {
        let digest = SHA256Digest(hashing: chain.pem)
        self.init(
            chain: digest, root: chain.root, validity: chain.notBefore...max(chain.notBefore, chain.notAfter),
            url: url ?? Self.url(of: digest))
    }

    /// Returns the URL from which a server serves a bundle's chain, relative to the server's own URL.
    private static func url(of chain: SHA256Digest) -> String { "chains/\(chain).pem" }

    fileprivate var hasOwnURL: Bool { chain.map { url == Self.url(of: $0) } ?? false }
}
