import ConfigParameters
import RemoteSettingsModel
import TargetFilter

/// A field's values as bounded, visible text.
///
/// If long values differ only far from their start, the excerpts begin near the difference.
package struct ValueExcerpt {
    package let old: String?
    package let new: String?

    /// - Parameter limit: the most characters of each value that are shown.
    package init(_ change: FieldChange, limit: Int) {
        let isFilter = change.path.last == RecordFilter.fieldName
        let old = change.old.map { Self.text($0, isFilter: isFilter) }
        let new = change.new.map { Self.text($0, isFilter: isFilter) }
        guard let old, let new, max(old.count, new.count) > limit else {
            self.old = old.map { Self.cut($0, from: 0, limit) }
            self.new = new.map { Self.cut($0, from: 0, limit) }
            return
        }
        let common = zip(old, new).prefix { $0 == $1 }.count
        let start = max(0, common - limit / 4)
        self.old = Self.cut(old, from: start, limit)
        self.new = Self.cut(new, from: start, limit)
    }

    /// The text of a value. For a ramp it begins with the plan, because nobody can read the plan from its filter.
    private static func text(_ value: JSONValue, isFilter: Bool) -> String {
        let text = VisibleText.escape(String(decoding: JSONText.compact(value), as: UTF8.self))
        guard isFilter, let ramp = value.string.flatMap(Ramp.init(in:)) else { return text }
        return "ramp \(ramp): \(text)"
    }

    private static func cut(_ text: String, from start: Int, _ limit: Int) -> String {
        guard text.count > limit else { return text }
        let shown = text.dropFirst(start).prefix(limit)
        return (start > 0 ? "…" : "") + shown + (start + shown.count < text.count ? "…" : "")
            + " (\(text.count) characters)"
    }
}
