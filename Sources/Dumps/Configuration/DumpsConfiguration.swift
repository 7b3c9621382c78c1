import Catalogue
import RemoteSettingsModel

/// The contents of `dumps.yaml`: the collections, their server and what is trusted.
package struct DumpsConfiguration: Hashable, Sendable {
    /// The only version of `dumps.yaml`.
    package static let version = 1

    /// The section `trust:`. The roots of a named server are not filled in yet: `ContentSignature.TrustPolicy` has them.
    package struct Trust: Hashable, Sendable {
        /// SHA-256 of root certificates; empty for the roots of the named server (`prod`, `stage`, `dev`).
        package var roots: [SHA256Digest] = []
        /// The leaf certificate's name; `nil` for the one that Mozilla uses for the bucket.
        package var signer: String?
        /// Whether a collection without any signature is accepted. Its bundle and its lock entry then say `unsigned`.
        package var acceptsUnsigned = false

        package init() {}
    }

    /// The section `release:`: what the directory holds are states of one release of this origin.
    package struct Release: Hashable, Sendable {
        package var origin: OriginName
        /// How long a confirmation lasts, for those who publish.
        package var expiresAfter = Duration.seconds(7 * 86_400)

        package init(origin: OriginName) {
            self.origin = origin
        }
    }

    /// One collection's settings.
    package struct Collection: Hashable, Sendable {
        package let id: CollectionID
        package var attachments: AttachmentRule
        /// The state at which the collection stays; `nil` if it follows the server.
        package var pin: Pin?
        package var budget = Budget()

        package init(id: CollectionID, attachments: AttachmentRule) {
            self.id = id
            self.attachments = attachments
        }
    }

    /// `prod`, `stage`, `dev`, or a base URL.
    package var server = "prod"
    /// Whether the server may be a plain-HTTP one that is not on this machine.
    package var allowsPlainHTTP = false
    package var trust = Trust()
    /// `nil` for a directory whose collections are independent of each other.
    package var release: Release?
    /// For collections that do not say otherwise.
    package var attachments = AttachmentRule()
    /// For collections that do not say otherwise.
    package var budget = Budget()
    /// Bytes that all bundles together may have; `nil` for no limit.
    package var totalBudget: UInt64?
    /// Where `--notify NAME` posts update events, by name.
    package var notificationTargets: [String: NotificationTarget] = [:]
    /// Sorted by id.
    package var collections: [Collection] = []

    package init() {}

    /// The collections that the directory holds, sorted by id: those that the file names, and with ``release`` the catalogue,
    /// which it need not name.
    package var held: [Collection] {
        guard release != nil, !collections.contains(where: { $0.id == Catalogue.collection }) else {
            return collections
        }
        return (collections + [settings(of: Catalogue.collection)]).sorted { $0.id < $1.id }
    }

    /// A collection's settings: its own, or the defaults if the file does not name it.
    package func settings(of id: CollectionID) -> Collection {
        if let own = collections.first(where: { $0.id == id }) { return own }
        var settings = Collection(id: id, attachments: attachments)
        settings.budget = budget
        return settings
    }
}
