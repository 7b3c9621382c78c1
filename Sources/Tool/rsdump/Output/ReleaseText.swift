import Dumps
import Publish
import RemoteSettings
import RemoteSettingsModel
import SnapshotTrust

/// Describes a release in words.
enum ReleaseText {
    /// An example is `release 13 of settings.example.org, in which main/a is changed and main/b is removed`.
    static func next(_ release: NextRelease) -> String {
        let catalogue = release.catalogue
        let name = "release \(catalogue.number) of \(catalogue.origin)"
        guard release.status == .made else { return "a confirmation of \(name)" }
        let parts = [("new", release.added), ("changed", release.changed), ("removed", release.removed)]
            .filter { !$0.1.isEmpty }.map { word, ids in
                "\(Counted.list(ids)) \(Counted.noun(ids.count, "is", plural: "are")) \(word)"
            }
        return parts.isEmpty ? name : "\(name), in which \(parts.joined(separator: ", and "))"
    }

    /// The result of publishing for the catalogue.
    static func words(_ release: NextRelease, resigned: Bool, _ style: Style) -> String {
        let catalogue = release.catalogue
        let name = "release \(catalogue.number) of \(catalogue.origin)"
        let end = ", confirmed until \(catalogue.expires.rfc3339)"
        switch release.status {
        case .made: return "\(style.green("made")): \(next(release))\(end)"
        case .confirmed: return "\(style.green("confirmed")): \(name)\(end)"
        case .unchanged: return "\(resigned ? style.green("signed again") : "unchanged"): \(name)\(end)"
        }
    }

    /// An example is `release 13 of settings.example.org, made 2026-11-20T…, confirmed until 2026-11-27T…`.
    static func sentence(_ release: VerifiedCatalogue, at now: Timestamp, _ style: Style) -> String {
        let catalogue = release.catalogue
        let name = "release \(catalogue.number) of \(catalogue.origin), made \(catalogue.made.rfc3339)"
        return release.isConfirmed(at: now)
            ? "\(name), confirmed until \(release.confirmedUntil.rfc3339)"
            : "\(name), \(style.yellow("unconfirmed")) since \(release.confirmedUntil.rfc3339): \(whyUnconfirmed)"
    }

    /// Two causes look the same from here.
    static let whyUnconfirmed =
        "a mirror may keep back what is newer, or its publisher has not run rsdump publish --confirm"

    /// The same of the release that an app reads.
    static func sentence(_ release: ReleaseStatus, _ style: Style) -> String {
        release.freshness.isConfirmed ? "\(release)" : "\(style.yellow("\(release)")): \(whyUnconfirmed)"
    }

    /// Why a release counts as unconfirmed; `nil` if it is confirmed, or if there is none.
    static func problem(
        _ verification: ReleaseVerification?, _ configuration: DumpsConfiguration, at now: Timestamp,
        limit: Duration? = nil
    ) -> String? {
        guard let release = verification?.release,
            let since = configuration.release?.unconfirmedSince(release, at: now, limit: limit)
        else { return nil }
        return "unconfirmed since \(since.rfc3339), last confirmed at \(release.catalogue.confirmed.rfc3339): "
            + whyUnconfirmed
    }

    static func json(_ release: NextRelease) -> JSONValue {
        .object(
            members(release.catalogue) + [
                .init(key: "status", value: .string(release.status.rawValue)),
                .init(key: "added", value: names(release.added)), .init(key: "changed", value: names(release.changed)),
                .init(key: "removed", value: names(release.removed)),
            ])
    }

    static func json(_ release: VerifiedCatalogue, at now: Timestamp) -> JSONValue {
        .object(
            members(release.catalogue) + [
                .init(key: "confirmedUntil", value: .count(release.confirmedUntil.milliseconds)),
                .init(key: "isConfirmed", value: .bool(release.isConfirmed(at: now))),
            ])
    }

    /// The result of `verify`.
    static func json(_ release: ReleaseVerification, at now: Timestamp) -> JSONValue {
        var members: [JSONValue.Member] = []
        if let held = release.release, case .object(let own) = json(held, at: now) { members = own }
        return .object(
            members + [
                .init(key: "pinnedElsewhere", value: names(release.left)),
                .init(key: "problems", value: .array(release.problems.map(JSONValue.string))),
            ])
    }

    private static func names(_ ids: [CollectionID]) -> JSONValue { .array(ids.map { .string("\($0)") }) }

    private static func members(_ catalogue: Catalogue) -> [JSONValue.Member] {
        [
            .init(key: "origin", value: .string("\(catalogue.origin)")),
            .init(key: "number", value: .count(catalogue.number)),
            .init(key: "made", value: .count(catalogue.made.milliseconds)),
            .init(key: "confirmed", value: .count(catalogue.confirmed.milliseconds)),
            .init(key: "expires", value: .count(catalogue.expires.milliseconds)),
        ]
    }
}
