import RemoteSettingsModel

/// What `dumps.yaml` says: which collections, from which server, vouched for by whom.
public struct DumpsConfiguration: Hashable, Sendable {
    /// The one version of `dumps.yaml` that there is.
    public static let version = 1

    /// What has to vouch for a collection.
    public struct Trust: Hashable, Sendable {
        /// SHA-256 of root certificates; empty for those of the server's name (`prod`, `stage`, `dev`).
        public var roots: [SHA256Digest] = []
        /// The leaf certificate's name, where it is not Mozilla's for the bucket.
        public var signer: String?
        /// Whether a collection without any signature is taken. It then is `unsigned` in bundle and lock, for ever.
        public var acceptsUnsigned = false

        public init() {}
    }

    /// One collection's settings.
    public struct Collection: Hashable, Sendable {
        public let id: CollectionID
        public var attachments: AttachmentRule
        /// Where the collection is to stay; `nil` where it follows the server.
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

    /// A collection's settings: its own, or those that it would have if it were named.
    public func settings(of id: CollectionID) -> Collection {
        if let own = collections.first(where: { $0.id == id }) { return own }
        var settings = Collection(id: id, attachments: attachments)
        settings.budget = budget
        return settings
    }
}
