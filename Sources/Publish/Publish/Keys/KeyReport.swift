import ContentSigning
import RemoteSettingsModel

/// The state of a key directory at one time, with the actions that the user has to take.
package struct KeyReport: Sendable, Encodable {
    private enum CodingKeys: String, CodingKey {
        case root
        case lines = "certificates"
    }

    package struct Line: Sendable, Encodable {
        package let role: String
        package let name: String?
        package let notBefore: String?
        package let notAfter: String?
        package let key: String
        /// The problem and its fix; `nil` if there is none.
        package let warning: String?
    }

    package let root: String?
    /// The root, the intermediate and the signing certificate.
    package let lines: [Line]

    package var isGood: Bool { lines.allSatisfy { $0.warning == nil } }

    /// Creates a report.
    ///
    /// - Parameters:
    ///   - keys: the key directory, for the remedies.
    ///   - warnDays: the report warns about certificates that expire in fewer than this number of days.
    package init(_ status: KeyStatus, in keys: KeyDirectory, now: Timestamp, warnDays: Int) {
        root = status.root?.hex
        lines = status.entries.map { entry in
            Line(
                role: entry.role.rawValue, name: entry.certificate?.name,
                notBefore: entry.certificate?.notBefore.rfc3339, notAfter: entry.certificate?.notAfter.rfc3339,
                key: entry.key.rawValue, warning: Self.warning(entry, in: keys, now: now, warnDays: warnDays))
        }
    }

    private static func warning(
        _ entry: KeyStatus.Entry, in keys: KeyDirectory, now: Timestamp, warnDays: Int
    ) -> String? {
        guard let certificate = entry.certificate else {
            return entry.role == .signer
                ? "no certificate; issue one with \(keys.renewCommand), or create all keys in an empty directory with: "
                    + "rsdump keys create DIR"
                : entry.problem
        }
        let left = certificate.notAfter.elapsed(since: now)
        if now > certificate.notAfter { return "expired; \(remedy(entry, in: keys))" }
        if now < certificate.notBefore { return "not valid yet; check this machine's clock" }
        if left < .seconds(warnDays * 86_400) {
            return "expires in \(Counted.text(left.components.seconds / 86_400, "day")); \(remedy(entry, in: keys))"
        }
        guard entry.key == .other else { return entry.problem }
        return entry.problem ?? "its key does not match the certificate; \(remedy(entry, in: keys))"
    }

    private static func remedy(_ entry: KeyStatus.Entry, in keys: KeyDirectory) -> String {
        switch entry.role {
        case .root: "create a new key directory, and release an app that trusts its root"
        case .intermediate: "renew it with: \(keys.renewCommand) --intermediate"
        case .signer where entry.key == .elsewhere:
            "renew it with: \(keys.renewCommand) (with --signer-public-key FILE if the key is kept elsewhere), then: "
                + keys.resignCommand
        case .signer: "renew it with: \(keys.renewCommand), then: \(keys.resignCommand)"
        }
    }
}
