import RemoteSettingsModel

/// `dumps.lock.json`: what exactly is in `dumps/`. A value; reading and writing the file is the caller's.
public struct LockFile: Hashable, Sendable {
    public static let version = 1

    /// A collection's bundle as a file.
    public struct Bundle: Hashable, Sendable {
        /// Relative to the directory of the lock: `<bucket>/<collection>.zip`. It follows from the collection's name.
        public let path: String
        /// Bytes.
        public let size: Int
        /// Of the whole file. It changes with the compressor; ``Collection/content`` does not.
        public let sha256: SHA256Digest

        public init(collection: CollectionID, size: Int, sha256: SHA256Digest) {
            path = Self.path(of: collection)
            self.size = size
            self.sha256 = sha256
        }

        public static func path(of collection: CollectionID) -> String {
            "\(collection.bucket)/\(collection.name).zip"
        }
    }

    /// What verification found when the collection's data last changed.
    public struct Signature: Hashable, Sendable {
        /// The leaf certificate's name.
        public let signer: String
        /// SHA-256 of the root certificate's DER.
        public let root: SHA256Digest
        /// When the first certificate of the chain expires.
        public let chainNotAfter: Timestamp
        /// The time that the chain was verified at; a packaged bundle is verified again at this time.
        public let verifiedAt: Timestamp

        public init(signer: String, root: SHA256Digest, chainNotAfter: Timestamp, verifiedAt: Timestamp) {
            self.signer = signer
            self.root = root
            self.chainNotAfter = chainNotAfter
            self.verifiedAt = verifiedAt
        }

        public init(_ verdict: SignatureVerdict) {
            self.init(
                signer: verdict.signer, root: verdict.root, chainNotAfter: verdict.chainNotAfter,
                verifiedAt: verdict.verifiedAt)
        }
    }

    /// What vouches for a collection. A claim of the lock: who needs to know verifies the bundle.
    public enum Trust: Hashable, Sendable {
        case signed(Signature)
        case unsigned
        case imported

        public init(_ provenance: Snapshot.Provenance) {
            switch provenance {
            case .signed(let verdict): self = .signed(Signature(verdict))
            case .unsigned: self = .unsigned
            case .imported: self = .imported
            }
        }
    }

    /// One collection's entry.
    public struct Collection: Hashable, Sendable {
        /// The URL of the server that it came from, or what it was imported from.
        public var server: String
        public var timestamp: Timestamp
        public var records: Int
        /// Attachment files in the bundle.
        public var attachments: Int
        /// The rule by which attachments were taken, as one line of text: where it changes, the bundle is made again.
        public var attachmentRule: String
        /// What was left out, sorted by reason.
        public var omitted: [Omission]
        /// SHA-256 of the bundle's manifest: what names the snapshot.
        public var content: SHA256Digest
        public var bundle: Bundle
        public var trust: Trust

        public init(
            server: String, timestamp: Timestamp, records: Int, attachments: Int, attachmentRule: String = "all",
            omitted: [Omission], content: SHA256Digest, bundle: Bundle, trust: Trust
        ) {
            self.server = server
            self.timestamp = timestamp
            self.records = records
            self.attachments = attachments
            self.attachmentRule = attachmentRule
            self.omitted = omitted
            self.content = content
            self.bundle = bundle
            self.trust = trust
        }
    }

    public var collections: [CollectionID: Collection]

    public init(collections: [CollectionID: Collection] = [:]) {
        self.collections = collections
    }
}
