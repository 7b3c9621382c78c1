import ContentSigning
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// The form of a signature in a collection's metadata. By default, the signature is valid.
public struct SignatureForm: Sendable, Hashable {
    /// The signing key, which also determines the certificate chain.
    @nonexhaustive public enum Signer: Sendable, Hashable, CaseIterable {
        /// The key that is in use.
        case current
        /// The key of the next rotation.
        case next
        /// A key whose certificate has expired.
        case expired
        /// A key of the authority that clients do not pin.
        case ofOtherRoot
    }

    /// The key that makes the signature.
    public var signer = Signer.current
    /// The mode that is stated in the signature.
    public var mode = "p384ecdsa"
    /// Whether the signature is made over different bytes, so that it is invalid.
    public var isTampered = false
    /// Whether the chain's URL is relative to the server's base URL.
    public var isRelative = false

    /// Creates a form of signature, valid by default. Each parameter sets the property of the same name.
    public init(
        _ signer: Signer = .current, mode: String = "p384ecdsa", isTampered: Bool = false, isRelative: Bool = false
    ) {
        self.signer = signer
        self.mode = mode
        self.isTampered = isTampered
        self.isRelative = isRelative
    }
}

/// The keys and certificates of all simulated servers in a process. Each is created when it is first used.
final class TestSigners: Sendable {
    static let shared: TestSigners = {
        do {
            return try TestSigners()
        } catch {
            fatalError("cannot create test keys: \(error)")
        }
    }()

    private struct Key: Hashable {
        let signer: SignatureForm.Signer
        let name: SignerName
    }

    let root: SHA256Digest
    let otherRoot: SHA256Digest
    private let authority: CertificateAuthority
    private let otherAuthority: CertificateAuthority
    private let now: Timestamp
    private let signers = Mutex<[Key: ContentSigner]>([:])

    private init() throws {
        let now = HTTPEnvironment.system.now()
        self.now = now
        let roots = try ["one", "other"].map {
            try CertificateAuthority(rootNamed: "\($0) root", key: PrivateKey(), days: 3650, now: now)
        }
        let issuers = try roots.map {
            try $0.issueIntermediate(named: "intermediate", key: PrivateKey(), days: 365, now: now)
        }
        (authority, otherAuthority) = (issuers[0], issuers[1])
        guard let root = authority.root, let otherRoot = otherAuthority.root else {
            preconditionFailure("a certificate authority that was just created has no root")
        }
        (self.root, self.otherRoot) = (root, otherRoot)
    }

    func signer(_ signer: SignatureForm.Signer, for collection: CollectionID) throws -> ContentSigner {
        let key = Key(signer: signer, name: .expected(for: collection))
        return try signers.withLock { signers in
            if let known = signers[key] { return known }
            let made =
                switch signer {
                case .current: try authority.issueSigner(key.name, now: now)
                // The validity of a renewed certificate begins later than that of the previous one.
                case .next: try authority.issueSigner(key.name, from: now.advanced(by: .seconds(-60)), now: now)
                case .expired:
                    try authority.issueSigner(
                        key.name, from: now.advanced(by: .seconds(-30 * 86_400)), days: -1, now: now)
                case .ofOtherRoot: try otherAuthority.issueSigner(key.name, now: now)
                }
            signers[key] = made
            return made
        }
    }

    /// Returns the file name of a chain on a server, which contains the hash of the chain's content.
    static func name(of chain: Bytes) -> String { "\(SHA256Digest(hashing: chain)).pem" }

    /// Returns the chain at a path: `/chains/NAME`, or `/v1/chains/NAME` if its URL was relative.
    func chain(at path: Substring) -> Bytes? {
        let parts = path.split(separator: "/")
        guard parts.count >= 2, parts[parts.count - 2] == "chains" else { return nil }
        return signers.withLock { $0.values.first { Self.name(of: $0.chain) == parts.last.map(String.init) }?.chain }
    }
}
