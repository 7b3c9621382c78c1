import ContentSignature
import RemoteSettingsModel
import SnapshotBundle

/// What a published state was made of. Equal values mean that nothing is left to do, and nothing less does.
struct PublishedFrom: Hashable {
    /// A signature: who made it, and where clients find that out.
    struct Signature: Hashable {
        /// The chain, whose first certificate has the key; `nil` where the bundle has none that fits the signature.
        var chain: SHA256Digest?
        var root: SHA256Digest?
        /// When the chain begins and ends.
        var validity: ClosedRange<Timestamp>?
        /// Where the chain can be fetched.
        var url: String
    }

    /// SHA-256 of the records with their timestamp.
    var payload: SHA256Digest
    /// The metadata's members that people write.
    var metadata: Set<JSONValue.Member>
    var signatures: [Signature]
    /// Where apps sync it.
    var server: String
    var attachmentRule: String
    /// Whether attachments that the rule asks for are missing.
    var isMissingAttachments: Bool
}

extension PublishedFrom {
    /// What a bundle's state was made of.
    init(_ snapshot: Snapshot, _ entry: LockFile.Collection, limits: Limits) throws(JSONError) {
        payload = SHA256Digest(hashing: snapshot.payload.bytes)
        metadata = Set(try snapshot.metadata.writtenMembers(limits: limits))
        signatures = snapshot.signatureChains(limits: limits).map { signature, chain in
            chain.map { Signature($0, url: signature.x5u) } ?? Signature(url: signature.x5u)
        }
        server = entry.server
        attachmentRule = entry.attachmentRule
        isMissingAttachments = entry.omitted.contains { $0.reason == .notImported }
    }

    /// What a bundle of the next state will be made of.
    init(_ state: NextState, _ signatures: [Signature], server: String, rule: String, limits: Limits) throws(JSONError)
    {
        payload = SHA256Digest(hashing: state.payload.bytes)
        metadata = Set(try state.metadata.writtenMembers(limits: limits))
        self.signatures = signatures
        self.server = server
        attachmentRule = rule
        isMissingAttachments = false
    }

    /// Whether the signatures of `other` are made by renewed keys only, and these are all still valid: the roots are the same, and
    /// each URL is, or follows from the chain.
    func isRenewed(by other: PublishedFrom, at time: Timestamp) -> Bool {
        signatures.count == other.signatures.count
            && zip(signatures, other.signatures).allSatisfy { old, new in
                guard let root = old.root, root == new.root, old.validity?.contains(time) == true else { return false }
                return old.url == new.url || (old.hasOwnURL && new.hasOwnURL)
            }
    }
}

extension PublishedFrom.Signature {
    /// - Parameter url: where the chain can be fetched; `nil` for the origin that serves the collection.
    init(_ chain: VerifiedChain, url: String?) {
        let digest = SHA256Digest(hashing: chain.pem)
        self.init(
            chain: digest, root: chain.root, validity: chain.notBefore...max(chain.notBefore, chain.notAfter),
            url: url ?? Self.url(of: digest))
    }

    /// The URL, relative to its own, at which an origin serves the chain of a bundle.
    private static func url(of chain: SHA256Digest) -> String { "chains/\(chain).pem" }

    fileprivate var hasOwnURL: Bool { chain.map { url == Self.url(of: $0) } ?? false }
}
