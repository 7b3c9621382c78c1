import RemoteSettingsModel

/// A changed field for display, with limited length: its name and its old and new values.
///
/// If long values differ only far from their start, the excerpts begin near the first difference.
package struct FieldText {
    package let name: String
    package let old: String?
    package let new: String?

    /// Creates the text of a change.
    ///
    /// - Parameter limit: the maximum number of bytes to show from each value.
    package init(_ change: FieldChange, separator: String = ".", limit: Int = DiffLimits.shownValueBytes) {
        name = change.path.text(separator: separator)
        var (old, new) = (change.old.map(Self.text), change.new.map(Self.text))
        // Without this, a change from 100 to 1E2 would show the same text twice.
        if old == new { (old, new) = (change.old?.array, change.new?.array) }
        var start = 0
        if let old, let new, max(old.count, new.count) > limit {
            start = max(0, zip(old, new).prefix { $0 == $1 }.count - limit / 4)
            // Move back to the start of a character. The values are identical up to here, so it starts at the same
            // position in both.
            while start > 0, old[start] & 0xC0 == 0x80 { start -= 1 }
        }
        self.old = old.map { Self.cut($0, from: start, limit) }
        self.new = new.map { Self.cut($0, from: start, limit) }
    }

    private static func text(_ json: Bytes) -> [UInt8] { JSONText.shown(FieldChange.value(json)) }

    private static func cut(_ text: [UInt8], from start: Int, _ limit: Int) -> String {
        let start = text.count > limit ? start : 0
        // Include four more bytes, to complete the last character within the limit.
        let part = String(decoding: text[start..<min(text.count, start + limit + 4)], as: UTF8.self)
        let (shown, isWhole) = VisibleText.beginning(part, limit: limit)
        let isCut = !isWhole || start + part.utf8.count < text.count
        guard start > 0 || isCut else { return shown }
        return (start > 0 ? "…" : "") + shown + (isCut ? "…" : "") + " (\(text.count) bytes)"
    }
}
