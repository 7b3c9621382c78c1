import RemoteSettingsModel
import SnapshotBundle
import SnapshotTrust

/// The contents of `dumps.yaml`: the collections, their server and what is trusted.
package struct DumpsConfiguration: Hashable, Sendable {
    /// The only version of `dumps.yaml`.
    package static let version = 1
    /// The version of this tool, which `requires:` is compared with.
    package static let tool = "0.1.0"
    static let toolVersion = version(tool) ?? []

    /// The numbers of a version such as `0.2` or `0.2.1`; `nil` for any other text.
    static func version(_ text: String) -> [Int]? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { $0.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int($0) : nil }
        return (1...3).contains(parts.count) && numbers.count == parts.count ? numbers : nil
    }

    /// The section `trust:`. It does not contain the roots of a named server: `SnapshotTrust.TrustPolicy` has them.
    package struct Trust: Hashable, Sendable {
        /// The SHA-256 of each trusted root certificate; empty for the roots of the named server (`prod`, `stage`,
        /// `dev`).
        package var roots: [SHA256Digest] = []
        /// The name in the leaf certificate; `nil` for the name that Mozilla uses for the bucket.
        package var signer: String?
        /// Whether a collection without any signature is accepted. Its bundle and its lock entry then say `unsigned`.
        package var acceptsUnsigned = false

        package init() {}
    }

    /// The section `catalogue:`. The directory then holds the states of one catalogue of this publisher.
    package struct CatalogueSettings: Hashable, Sendable {
        package var publisher: PublisherName
        /// How long a confirmation lasts. Only a publisher uses this.
        package var expiresAfter = Duration.seconds(7 * 86_400)
        /// The largest age of the last confirmation; `nil` if the confirmation itself says how long it lasts.
        package var maxAge: Duration?

        package init(publisher: PublisherName) {
            self.publisher = publisher
        }

        /// Since when a catalogue counts as unconfirmed; `nil` if it is confirmed.
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
        package var budget = Budget()
        package var guards = Guards()
        package var compression = BundleWriter.Compression.deflate

        package init(id: CollectionID, attachments: AttachmentRule) {
            self.id = id
            self.attachments = attachments
        }
    }

    /// `prod`, `stage`, `dev`, or a base URL.
    package var server = "prod"
    /// Whether the server may use plain HTTP although it is not on this machine.
    package var allowsPlainHTTP = false
    package var trust = Trust()
    /// The catalogue; `nil` if the directory's collections are independent of each other.
    package var catalogue: CatalogueSettings?
    /// The rule for collections that have none of their own.
    package var attachments = AttachmentRule()
    /// The budget for collections that have none of their own.
    package var budget = Budget()
    /// The guards for collections, which may change them.
    package var guards = Guards()
    /// Whether the bundles of collections that do not say otherwise are compressed.
    package var compression = BundleWriter.Compression.deflate
    /// The most bytes that all bundles together may have; `nil` for no limit.
    package var totalBudget: UInt64?
    /// The collections that the file names, sorted by id.
    package var collections: [Collection] = []

    package init() {}

    /// The collections that the directory holds, sorted by id.
    ///
    /// They are those that the file names. With ``catalogue``, the catalogue belongs to them even if the file does not
    /// name it.
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
