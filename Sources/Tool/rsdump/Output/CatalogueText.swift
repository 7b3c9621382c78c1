import Dumps
import Publish
import RemoteSettings
import RemoteSettingsModel
import SnapshotTrust

/// Describes a catalogue in words.
enum CatalogueText {
    /// An example: `catalogue 13 of settings.example.org, in which main/a is changed and main/b is removed`.
    static func next(_ next: NextCatalogue) -> String {
        let catalogue = next.catalogue
        let name = "catalogue \(catalogue.number) of \(catalogue.publisher)"
        guard next.status == .made else { return "a confirmation of \(name)" }
        let parts = [("new", next.added), ("changed", next.changed), ("removed", next.removed)]
            .filter { !$0.1.isEmpty }.map { word, ids in
                "\(Counted.list(ids)) \(Counted.noun(ids.count, "is", plural: "are")) \(word)"
            }
        return parts.isEmpty ? name : "\(name), in which \(parts.joined(separator: ", and "))"
    }

    /// What `publish` did with the catalogue.
    static func words(_ next: NextCatalogue, resigned: Bool, _ style: Style) -> String {
        let catalogue = next.catalogue
        let name = "catalogue \(catalogue.number) of \(catalogue.publisher)"
        let end = ", confirmed until \(catalogue.expires.rfc3339)"
        switch next.status {
        case .made: return "\(style.green("made")): \(Self.next(next))\(end)"
        case .confirmed: return "\(style.green("confirmed")): \(name)\(end)"
        case .unchanged: return "\(resigned ? style.green("signed again") : "unchanged"): \(name)\(end)"
        }
    }

    /// An example: `catalogue 13 of settings.example.org, made 2026-11-20T…, confirmed until 2026-11-27T…`.
    static func sentence(_ verified: VerifiedCatalogue, at now: Timestamp, _ style: Style) -> String {
        let catalogue = verified.catalogue
        let name = "catalogue \(catalogue.number) of \(catalogue.publisher), made \(catalogue.made.rfc3339)"
        return verified.isConfirmed(at: now)
            ? "\(name), confirmed until \(verified.confirmedUntil.rfc3339)"
            : "\(name), \(style.yellow("unconfirmed")) since \(verified.confirmedUntil.rfc3339): \(whyUnconfirmed)"
    }

    /// A client cannot tell these two causes apart.
    static let whyUnconfirmed =
        "a mirror may hold back a newer one, or its publisher has not run rsdump publish --confirm; ask the publisher"

    /// The same for the catalogue that an app reads.
    static func sentence(_ catalogue: CatalogueStatus, _ style: Style) -> String {
        catalogue.freshness.isConfirmed ? "\(catalogue)" : "\(style.yellow("\(catalogue)")): \(whyUnconfirmed)"
    }

    /// Why a catalogue counts as unconfirmed; `nil` if it is confirmed, or if there is none.
    static func problem(
        _ verification: CatalogueVerification?, _ configuration: DumpsConfiguration, at now: Timestamp,
        limit: Duration? = nil
    ) -> String? {
        guard let catalogue = verification?.catalogue,
            let since = configuration.catalogue?.unconfirmedSince(catalogue, at: now, limit: limit)
        else { return nil }
        return "unconfirmed since \(since.rfc3339), last confirmed at \(catalogue.catalogue.confirmed.rfc3339): "
            + whyUnconfirmed
    }
}

/// A catalogue in the JSON documents of commands.
struct CatalogueReport: Encodable {
    private var publisher: String?
    private var number: UInt64?
    private var made, confirmed, expires, confirmedUntil: Timestamp?
    private var isConfirmed: Bool?
    private var status: String?
    private var added, changed, removed, pinnedElsewhere: [CollectionID]?
    private var problems: [String]?

    private init(_ catalogue: Catalogue?) {
        (publisher, number) = (catalogue.map { "\($0.publisher)" }, catalogue?.number)
        (made, confirmed, expires) = (catalogue?.made, catalogue?.confirmed, catalogue?.expires)
    }

    init(_ next: NextCatalogue) {
        self.init(next.catalogue)
        (status, added, changed, removed) = (next.status.rawValue, next.added, next.changed, next.removed)
    }

    init(_ verified: VerifiedCatalogue?, at now: Timestamp) {
        self.init(verified?.catalogue)
        (confirmedUntil, isConfirmed) = (verified?.confirmedUntil, verified?.isConfirmed(at: now))
    }

    init(_ verification: CatalogueVerification, at now: Timestamp) {
        self.init(verification.catalogue, at: now)
        (pinnedElsewhere, problems) = (verification.left, verification.problems)
    }
}
