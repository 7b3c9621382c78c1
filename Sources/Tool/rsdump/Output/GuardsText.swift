import Dumps
import RemoteSettingsModel

/// Guards and their violations as text and as JSON.
enum GuardsText {
    static func json(_ violation: GuardViolation) -> JSONValue {
        .members([
            "guard": .string(violation.guarding.rawValue), "found": .string(violation.found),
            "limit": .string(violation.limit), "records": .count(violation.count),
            "ids": .array(violation.ids.map(JSONValue.string)),
        ])
    }

    /// The guards that apply, by name.
    static func json(_ guards: Guards) -> JSONValue {
        .object(all(guards).map { .init(key: $0.name.rawValue, value: .string($0.value)) })
    }

    /// The guards on one line.
    static func words(_ guards: Guards) -> String {
        let words = all(guards).map { "\($0.name.rawValue) \(VisibleText.excerpt($0.value, limit: 100))" }
        return words.isEmpty ? "none" : words.joined(separator: ", ")
    }

    private static func all(_ guards: Guards) -> [(name: Guards.Name, value: String)] {
        (guards.keepsRecords ? [(.notEmptied, "true")] : []) + guards.settings.filter { $0.name != .notEmptied }
    }
}
