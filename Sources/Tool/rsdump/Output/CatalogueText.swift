import Dumps
import Publish
import RemoteSettings
import RemoteSettingsModel
import SnapshotBundle

/// Descriptions of a catalogue for people.
enum CatalogueText {
    /// Returns a description of the next catalogue, such as `catalogue 13 of settings.example.org (changed: main/a;
    /// removed: main/b)`.
    static func next(_ next: NextCatalogue) -> String {
        let catalogue = next.catalogue
        let name = "catalogue \(catalogue.number) of \(catalogue.publisher)"
        guard next.status == .made else { return "a new confirmation of \(name)" }
        let parts = [("new", next.added), ("changed", next.changed), ("removed", next.removed)]
            .filter { !$0.1.isEmpty }.map { word, ids in
                "\(word): \(Counted.list(ids))"
            }
        return parts.isEmpty ? name : "\(name) (\(parts.joined(separator: "; ")))"
    }

    /// Returns a description of the change that `publish` made to the catalogue.
    static func words(_ next: NextCatalogue, resigned: Bool, _ style: Style) -> String {
        let catalogue = next.catalogue
        let name = "catalogue \(catalogue.number) of \(catalogue.publisher)"
        let end = ", fresh until \(catalogue.expires.rfc3339)"
        switch next.status {
        case .made: return "\(style.green("created")): \(Self.next(next))\(end)"
        case .confirmed: return "\(style.green("confirmed")): \(name)\(end)"
        case .unchanged: return "\(resigned ? style.green("signed again") : "unchanged"): \(name)\(end)"
        }
    }

    /// Returns a description of a verified catalogue, such as `catalogue 13 of settings.example.org, created
    /// 2026-11-20T…, fresh until 2026-11-27T…`.
    static func sentence(_ verified: VerifiedCatalogue, at now: Timestamp, _ style: Style) -> String {
        let catalogue = verified.catalogue
        let name = "catalogue \(catalogue.number) of \(catalogue.publisher), created \(catalogue.made.rfc3339)"
        return verified.isFresh(at: now)
            ? "\(name), fresh until \(verified.freshUntil.rfc3339)"
            : "\(name), \(style.yellow("stale")) since \(verified.freshUntil.rfc3339): \(whyStale)"
    }

    /// The two possible reasons for a stale catalogue, which a client cannot distinguish.
    static let whyStale =
        "a mirror may be out of date, or the publisher has not run rsdump publish --confirm; ask the publisher"

    /// Returns a description of the catalogue that an app uses.
    static func sentence(_ catalogue: CatalogueStatus, _ style: Style) -> String {
        catalogue.freshness.isFresh ? "\(catalogue)" : "\(style.yellow("\(catalogue)")): \(whyStale)"
    }

    /// Returns why a catalogue is stale; `nil` if it is fresh, or if there is none.
    static func problem(
        _ verification: CatalogueVerification?, _ configuration: DumpsConfiguration, at now: Timestamp,
        limit: Duration? = nil
    ) -> String? {
        guard let catalogue = verification?.catalogue,
            let since = configuration.catalogue?.staleSince(catalogue, at: now, limit: limit)
        else { return nil }
        return "stale since \(since.rfc3339), last confirmed at \(catalogue.catalogue.confirmed.rfc3339): \(whyStale)"
    }
}

extension Catalogue: Encodable {
    package func encode(to encoder: any Encoder) throws {
        try encoder.encode(members: [
            "publisher": "\(publisher)", "number": number, "made": made, "confirmed": confirmed, "expires": expires,
        ])
    }
}

extension NextCatalogue: Encodable {
    package func encode(to encoder: any Encoder) throws {
        try catalogue.encode(to: encoder)
        try encoder.encode(members: [
            "status": status.rawValue, "added": added, "changed": changed, "removed": removed,
        ])
    }
}

/// A directory's catalogue, in the JSON output of commands.
struct CatalogueReport: Encodable {
    /// The catalogue; `nil` if there is no usable one.
    let catalogue: VerifiedCatalogue?
    var verification: CatalogueVerification?
    let now: Timestamp

    func encode(to encoder: any Encoder) throws {
        try catalogue?.catalogue.encode(to: encoder)
        try encoder.encode(members: [
            "freshUntil": catalogue?.freshUntil, "isFresh": catalogue?.isFresh(at: now),
            "pinnedElsewhere": verification?.left, "problems": verification?.problems,
        ])
    }
}
