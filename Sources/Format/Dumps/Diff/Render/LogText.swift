import RemoteSettingsModel

/// A collection's history as text for a terminal, entry by entry. Control characters from records are escaped.
package struct LogText {
    /// The most records that an entry lists without their fields.
    private static let mostRecords = 20

    private let showsFields: Bool
    private let paint: (String, DiffText.Role) -> String

    /// Makes the text of a history.
    ///
    /// - Parameters:
    ///   - showsFields: whether to show the old and new values of each changed field.
    ///   - paint: adds the colour of a role to a text.
    package init(showsFields: Bool, paint: @escaping (String, DiffText.Role) -> String = { text, _ in text }) {
        self.showsFields = showsFields
        self.paint = paint
    }

    /// The lines of one entry, without line feeds.
    package func lines(_ entry: CollectionLog.Entry) -> [String] {
        var head = paint(entry.name, .updated)
        if let committed = entry.committed { head += "  " + paint(committed.rfc3339, .dim) }
        head += "  " + (entry.diff.new.map { "data of \($0.timestamp.rfc3339)" } ?? "removed")
        if let counts = DiffWords.counts(entry.diff) { head += "  \(counts)" }
        if !entry.tags.isEmpty { head += "  (\(entry.tags.map(VisibleText.escape).joined(separator: ", ")))" }
        var lines = [head]
        let text = DiffText(DiffReport(old: "", new: "", collections: []), paint: paint)
        guard showsFields else {
            let shown = entry.changes.prefix(Self.mostRecords).map { text.record($0)[0] }
            let left = entry.changes.count - shown.count
            return lines + shown + (left > 0 ? ["  … and \(left) more"] : [])
        }
        for change in entry.changes { lines += text.record(change) }
        return lines
    }
}

extension CollectionLog.Entry {
    /// The commit's short name, or the file's path.
    package var name: String {
        if case .revision(let revision, _) = place { return String(revision.commit.prefix(12)) }
        return "\(place)"
    }

    /// The entry as a JSON object.
    package var json: JSONValue {
        var commit: String?
        if case .revision(let revision, _) = place { commit = revision.commit }
        return .members([
            "commit": commit.map(JSONValue.string),
            "file": commit == nil ? .string("\(place)") : nil,
            "committed": committed.map { .string($0.rfc3339) },
            "timestamp": diff.new.map { .count($0.timestamp.milliseconds) },
            "lastModified": diff.new.map { .string($0.timestamp.rfc3339) },
            "tags": .array(tags.map(JSONValue.string)),
            "records": .array(changes.map(DiffJSON.record)),
        ])
    }

    /// The entry as lines of Markdown.
    package var markdown: [String] {
        let when = committed.map { ", \($0.rfc3339)" } ?? ""
        let data = diff.new.map { "data of \($0.timestamp.rfc3339)" } ?? "removed"
        let tagged = tags.isEmpty ? "" : ", in \(tags.map(MarkdownText.code).joined(separator: ", "))"
        let counts = DiffWords.counts(diff).map { ": \($0)" } ?? ""
        return ["- \(MarkdownText.code(name))\(when), \(data)\(tagged)\(counts)"]
            + changes.prefix(DiffMarkdown.recordsPerCollection).map { change in
                let fields = DiffWords.fields(change).map { MarkdownText.code($0.path.joined(separator: ".")) }
                let names = change.kind == .updated && !fields.isEmpty ? ": " + fields.joined(separator: ", ") : ""
                return "  - \(change.kind.rawValue) \(MarkdownText.code(change.id))\(names)"
            }
    }
}
