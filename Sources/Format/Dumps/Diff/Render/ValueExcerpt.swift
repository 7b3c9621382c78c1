import RemoteSettingsModel

/// The old and new value of a field as visible text of limited length.
///
/// If long values differ only far from their start, the excerpts begin near the difference.
package struct ValueExcerpt {
    package let old: String?
    package let new: String?

    /// Makes the excerpts of a field's values.
    ///
    /// - Parameter limit: the most characters of each value that are shown.
    package init(_ change: FieldChange, limit: Int) {
        let old = change.old.map(Self.text)
        let new = change.new.map(Self.text)
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

    private static func text(_ value: JSONValue) -> String {
        VisibleText.escape(String(decoding: JSONText.compact(value), as: UTF8.self))
    }

    private static func cut(_ text: String, from start: Int, _ limit: Int) -> String {
        guard text.count > limit else { return text }
        let shown = text.dropFirst(start).prefix(limit)
        return (start > 0 ? "…" : "") + shown + (start + shown.count < text.count ? "…" : "")
            + " (\(text.count) characters)"
    }
}
