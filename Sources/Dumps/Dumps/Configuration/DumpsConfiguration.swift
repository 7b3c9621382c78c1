import RemoteSettingsModel
import SnapshotBundle

/// The contents of `dumps.yaml`: the collections, their server and what is trusted.
package struct DumpsConfiguration: Hashable, Sendable {
    /// The only version of `dumps.yaml`.
    static let version = 1
    /// The version of this tool, which `requires:` is compared with.
    package static let tool = "0.1.0"
    static let toolVersion = version(tool) ?? []

    /// The numbers of a version such as `0.2` or `0.2.1`; `nil` for any other text.
    static func version(_ text: String) -> [Int]? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { $0.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int($0) : nil }
        return (1...3).contains(parts.count) && numbers.count == parts.count ? numbers : nil
    }

    /// The section `trust:`. The roots of a named server are not in it, but in `TrustPolicy`.
    package struct Trust: Hashable, Sendable {
        /// The SHA-256 of each trusted root certificate; empty to trust the roots of the named server (`prod`, `stage`,
        /// `dev`).
        package var roots: [SHA256Digest] = []
        /// The name in the leaf certificate; `nil` for the name that Mozilla uses for the bucket.
        package var signer: String?
        /// Whether a collection without any signature is accepted. Its bundle and its lock entry then say `unsigned`.
        package var acceptsUnsigned = false

        init() {}
    }

    /// The section `catalogue:`. The directory then holds the states of one of this publisher's catalogues.
    package struct CatalogueSettings: Hashable, Sendable {
        package var publisher: PublisherName
        /// How long a confirmation is valid. Only a publisher uses this.
        package var expiresAfter = Duration.seconds(7 * 86_400)
        /// The largest age of the last confirmation; `nil` to use the limit that the confirmation itself gives.
        package var maxAge: Duration?

        package init(publisher: PublisherName) {
            self.publisher = publisher
        }

        /// The time since when a catalogue has not been confirmed; `nil` if it is confirmed.
        ///
        /// - Parameter limit: a stricter age limit than ``maxAge``, such as that of a command; `nil` for none.
        package func unconfirmedSince(
            _ catalogue: VerifiedCatalogue, at now: Timestamp, limit: Duration? = nil
        ) -> Timestamp? {
            let confirmed = catalogue.catalogue.confirmed
            let end = maxAge.map(confirmed.advanced(by:)) ?? catalogue.confirmedUntil
            let since = min(end, limit.map(confirmed.advanced(by:)) ?? end)
            return now > since ? since : nil
        }
    }

    /// One collection's settings.
    package struct Collection: Hashable, Sendable {
        package let id: CollectionID
        package var attachments: AttachmentRule
        /// The state at which the collection stays; `nil` if it follows the server.
        package var pin: Pin?
        /// The failure that is known; `nil` if none is.
        package var acknowledged: Acknowledgement?
        package var budget = Budget()
        package var guards = Guards()
        package var compression = BundleWriter.Compression.deflate

        package init(id: CollectionID, attachments: AttachmentRule) {
            self.id = id
            self.attachments = attachments
        }
    }

    /// The lowest version of this tool that may read the file; `nil` for any.
    var requires: String?
    /// `prod`, `stage`, `dev`, or a base URL.
    package var server = "prod"
    /// Whether the server may use plain HTTP even if it is on another machine.
    package var allowsPlainHTTP = false
    package var trust = Trust()
    /// The settings of the catalogue; `nil` if the directory's collections are independent of each other.
    package var catalogue: CatalogueSettings?
    /// The rule for collections without a rule of their own.
    var attachments = AttachmentRule()
    /// The budget for collections without a budget of their own.
    var budget = Budget()
    /// The guards for all collections. A collection may change them.
    package var guards = Guards()
    /// How the bundles of collections without a setting of their own are compressed.
    var compression = BundleWriter.Compression.deflate
    /// The largest size of all bundles together in bytes; `nil` for no limit.
    package var totalBudget: UInt64?
    /// The collections that the file names, sorted by id.
    package var collections: [Collection] = []

    package init() {}

    /// The collections that the directory holds, sorted by id.
    ///
    /// They are those that the file names. If ``catalogue`` is set, they include the catalogue even if the file does
    /// not name it.
    package var allCollections: [Collection] {
        guard catalogue != nil, !collections.contains(where: { $0.id == Catalogue.collection }) else {
            return collections
        }
        return (collections + [settings(of: Catalogue.collection)]).sorted { $0.id < $1.id }
    }

    /// A collection's own settings, or the defaults if the file does not name it.
    package func settings(of id: CollectionID) -> Collection {
        if let own = collections.first(where: { $0.id == id }) { return own }
        var settings = Collection(id: id, attachments: attachments)
        settings.budget = budget
        settings.guards = guards
        settings.compression = compression
        return settings
    }
}
