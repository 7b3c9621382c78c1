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

    /// The guards on one line.
    static func words(_ guards: Guards) -> String {
        let others = guards.settings.filter { $0.name != .notEmptied }.map { "\($0.name.rawValue) \($0.value)" }
        let words = (guards.keepsRecords ? [Guards.Name.notEmptied.rawValue] : []) + others
        return words.isEmpty ? "none" : Console.visible(words.joined(separator: ", "))
    }

    /// A suggestion as lines of `dumps.yaml`, below `collections:`.
    static func lines(_ id: CollectionID, _ suggestion: GuardSuggestion?) -> [String] {
        guard let suggestion, let first = suggestion.first, let last = suggestion.last else {
            return ["  # \(id): nothing to suggest, because git has fewer than two states"]
        }
        return [
            "  # \(Counted.text(suggestion.states, "state")), \(first.rfc3339) to \(last.rfc3339): at once at most "
                + "\(suggestion.removed)% removed, \(suggestion.changed)% changed, \(suggestion.added)% added, "
                + "\(suggestion.growth)% more",
            "  \(id):", "    guards:",
        ] + suggestion.guards.settings.map { "      \($0.name.rawValue): \($0.value)" }
    }
}
