import RemoteSettingsModel

/// The contents of `dumps.yaml`: the collections, their server and what is trusted.
public struct DumpsConfiguration: Hashable, Sendable {
    /// The only version of `dumps.yaml`.
    public static let version = 1

    /// The section `trust:`. The roots of a named server are not filled in yet: `ContentSignature.TrustPolicy` has them.
    public struct Trust: Hashable, Sendable {
        /// SHA-256 of root certificates; empty for the roots of the named server (`prod`, `stage`, `dev`).
        public var roots: [SHA256Digest] = []
        /// The leaf certificate's name; `nil` for the one that Mozilla uses for the bucket.
        public var signer: String?
        /// Whether a collection without any signature is accepted. Its bundle and its lock entry then say `unsigned`.
        public var acceptsUnsigned = false

        public init() {}
    }

    /// One collection's settings.
    public struct Collection: Hashable, Sendable {
        public let id: CollectionID
        public var attachments: AttachmentRule
        /// The state at which the collection stays; `nil` if it follows the server.
        public var pin: Pin?
        public var budget = Budget()

        public init(id: CollectionID, attachments: AttachmentRule) {
            self.id = id
            self.attachments = attachments
        }
    }

    /// `prod`, `stage`, `dev`, or a base URL.
    public var server = "prod"
    /// Whether the server may be a plain-HTTP one that is not on this machine.
    public var allowsPlainHTTP = false
    public var trust = Trust()
    /// For collections that do not say otherwise.
    public var attachments = AttachmentRule()
    /// For collections that do not say otherwise.
    public var budget = Budget()
    /// Bytes that all bundles together may have; `nil` for no limit.
    public var totalBudget: UInt64?
    /// Sorted by id.
    public var collections: [Collection] = []

    public init() {}

    /// A collection's settings: its own, or the defaults if the file does not name it.
    public func settings(of id: CollectionID) -> Collection {
        if let own = collections.first(where: { $0.id == id }) { return own }
        var settings = Collection(id: id, attachments: attachments)
        settings.budget = budget
        return settings
    }
}
