import RemoteSettingsModel

/// A collection's history as text for a terminal, one entry at a time. Control characters from records are escaped.
package struct LogText {
    /// The maximum number of records that an entry lists without their fields.
    private static let mostRecords = 20

    /// The bytes still available for further entries.
    private var left = DiffLimits.reportBytes
    private let showsFields: Bool
    private let paint: (String, DiffText.Role) -> String

    /// Creates the text of a history.
    ///
    /// - Parameters:
    ///   - showsFields: whether to show the old and new values of each changed field.
    ///   - paint: adds the color of a role to a string.
    package init(showsFields: Bool, paint: @escaping (String, DiffText.Role) -> String = { text, _ in text }) {
        self.showsFields = showsFields
        self.paint = paint
    }

    /// Returns the lines of one entry, without line feeds.
    package mutating func lines(_ entry: CollectionLog.Entry) -> [String] {
        var head = paint(entry.name, .updated)
        if let committed = entry.committed { head += "  " + paint(committed.rfc3339, .dim) }
        head += "  " + (entry.diff.new.map { "data of \($0.timestamp.rfc3339)" } ?? "removed")
        if let words = entry.words { head += "  \(words)" }
        if !entry.tags.isEmpty { head += "  (\(entry.tags.map(VisibleText.escape).joined(separator: ", ")))" }
        var lines = [head]
        let text = DiffText(DiffReport(old: "", new: "", collections: []), paint: paint)
        if showsFields {
            text.forEachLine(of: entry.changes, left: &left) { lines.append($0) }
        } else {
            lines += entry.changes.prefix(Self.mostRecords).map(text.head)
            let more = entry.changes.count - Self.mostRecords
            if more > 0 { lines.append("  … and \(more) more") }
        }
        return lines
    }

    /// Passes one entry to `consume` as a JSON object in an array.
    package mutating func write(_ entry: CollectionLog.Entry, to consume: ([UInt8]) -> Void) {
        var commit: String?
        if case .revision(let revision, _) = entry.place { commit = revision.commit }
        let head = JSONValue.members([
            "commit": commit.map(JSONValue.string),
            "file": commit == nil ? .string("\(entry.place)") : nil,
            "committed": entry.committed.map { .string($0.rfc3339) },
            "timestamp": entry.diff.new.map { .count($0.timestamp.milliseconds) },
            "lastModified": entry.diff.new.map { .string($0.timestamp.rfc3339) },
            "tags": .array(entry.tags.map(JSONValue.string)),
        ])
        DiffJSON.write(head, entry.changes, left: &left, level: 1, to: consume)
    }
}

extension CollectionLog.Entry {
    /// The abbreviated commit hash, or the file's path.
    package var name: String {
        if case .revision(let revision, _) = place { return String(revision.commit.prefix(12)) }
        return "\(place)"
    }

    /// The counts of changes or, if there are none, what else has changed; `nil` if that is unknown.
    fileprivate var words: String? {
        let notes = DiffWords.notes(diff).map { VisibleText.excerpt($0) }
        return DiffWords.counts(diff) ?? (notes.isEmpty ? nil : notes.joined(separator: "; "))
    }

    /// The entry as lines of Markdown.
    package var markdown: [String] {
        let when = committed.map { ", \($0.rfc3339)" } ?? ""
        let data = diff.new.map { "data of \($0.timestamp.rfc3339)" } ?? "removed"
        let tagged = tags.isEmpty ? "" : ", in \(tags.map(MarkdownText.code).joined(separator: ", "))"
        let words = words.map { ": \(MarkdownText.prose($0))" } ?? ""
        return ["- \(MarkdownText.code(name))\(when), \(data)\(tagged)\(words)"]
            + changes.prefix(DiffMarkdown.recordsPerCollection).map { change in
                guard change.kind == .updated else {
                    return "  - \(change.kind.rawValue) \(MarkdownText.code(change.id))"
                }
                let fields = DiffWords.fields(change)
                var names = fields.shown.prefix(DiffMarkdown.fieldsPerRecord).map {
                    MarkdownText.code($0.path.text(limit: DiffMarkdown.valueLimit))
                }
                let more = fields.shown.count + fields.omitted - names.count
                if more > 0 { names.append("\(more) more") }
                let list = names.isEmpty ? "" : ": \(names.joined(separator: ", "))"
                return "  - \(change.kind.rawValue) \(MarkdownText.code(change.id))\(list)"
            }
    }
}
