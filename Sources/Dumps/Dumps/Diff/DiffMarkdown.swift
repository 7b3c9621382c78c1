import RemoteSettingsModel

/// A comparison as Markdown for a pull request's body.
///
/// Its length is limited. The largest changes come first, and the others are only counted. Text from records cannot
/// become markup or an `@mention`.
package struct DiffMarkdown {
    /// The default limit in bytes. It leaves space for a summary: GitHub refuses bodies of more than 65,536 characters.
    package static let defaultLimit = 50_000
    static let collectionsInTable = 100
    static let recordsPerCollection = 20
    static let fieldsPerRecord = 8
    static let valueLimit = 120

    private let report: DiffReport
    private let limit: Int

    /// Creates the Markdown of a report.
    ///
    /// - Parameter limit: the maximum size of the whole text in bytes. A value below 2,000 is raised to 2,000, which
    ///   the table of counts needs.
    package init(_ report: DiffReport, limit: Int = DiffMarkdown.defaultLimit) {
        self.report = report
        self.limit = max(2_000, limit)
    }

    /// The whole text, with a trailing line feed.
    package var text: String {
        var page = BoundedText(limit: limit)
        page.append("### Changes from \(MarkdownText.code(report.old)) to \(MarkdownText.code(report.new))\n\n")
        page.append("\(DiffWords.total(report)).\n")
        for line in namedCollections { page.append(line) }
        for change in report.settings.prefix(Self.recordsPerCollection) {
            let (old, new) = (change.old ?? "none", change.new ?? "none")
            let values = [old, new].map { MarkdownText.code(bounded($0)) }
            page.append("- dumps.yaml: \(MarkdownText.code(change.name)): \(values[0]) → \(values[1])\n")
        }
        let changed = report.changed.sorted(by: isLarger)
        guard !changed.isEmpty else { return page.text }
        appendTable(changed, to: &page)
        for (index, diff) in changed.enumerated()
        where !diff.records.isEmpty || !diff.metadata.isEmpty || !DiffWords.notes(diff).isEmpty {
            guard appendDetails(diff, to: &page) else {
                let left = changed[index...].count { !$0.records.isEmpty }
                page.appendLast("\n… and the details of \(left) more \(Counted.noun(left, "collection")).\n")
                break
            }
        }
        return page.text
    }

    /// One line each for new and removed collections, and for those of which a row of counts shows nothing.
    private var namedCollections: [String] {
        func line(_ title: String, _ diffs: [SnapshotDiff], _ reason: String) -> String? {
            guard !diffs.isEmpty else { return nil }
            let names = diffs.prefix(Self.recordsPerCollection).map { MarkdownText.code("\($0.collection)") }
            let left = diffs.count - names.count
            return "- \(title): \(names.joined(separator: ", "))\(left > 0 ? " and \(left) more" : "")\(reason)\n"
        }
        let removed = report.changed.filter { $0.status == .removed }
        return [
            line("New", report.changed.filter { $0.status == .added }, ""),
            line(
                "Removed", removed.filter { report.unlisted.contains($0.collection) },
                " (no longer listed in `dumps.yaml`)"),
            line("Removed", removed.filter { !report.unlisted.contains($0.collection) }, ""),
            line("Verified against a different root", report.changed.filter(\.hasOtherRoot), ""),
            line("Only signed again", report.changed.filter(\.isOnlySignedAgain), ""),
        ].compactMap(\.self)
    }

    /// Returns whether `left` comes before `right`: first those with more changed records, then those with more bytes
    /// of new attachments, then by name.
    private func isLarger(_ left: SnapshotDiff, _ right: SnapshotDiff) -> Bool {
        if left.records.count != right.records.count { return left.records.count > right.records.count }
        let (a, b) = (left.attachments.addedBytes, right.attachments.addedBytes)
        return a == b ? left.collection < right.collection : a > b
    }

    private func appendTable(_ changed: [SnapshotDiff], to page: inout BoundedText) {
        page.append("\n| collection | records | created | updated | deleted | attachments | size | date |\n")
        page.append("| --- | ---: | ---: | ---: | ---: | --- | ---: | --- |\n")
        for (index, diff) in changed.enumerated() {
            guard index < Self.collectionsInTable, page.append(row(diff), reserving: limit / 2) else {
                page.append(
                    "\n… and \(changed.count - index) more changed "
                        + "\(Counted.noun(changed.count - index, "collection")).\n"
                )
                return
            }
        }
    }

    private func row(_ diff: SnapshotDiff) -> String {
        func sides(_ text: (SnapshotDiff.Side) -> String) -> String {
            let (old, new) = (diff.old.map(text), diff.new.map(text))
            if old == new { return new ?? "" }
            return "\(old ?? "none") → \(new ?? "none")"
        }
        let hasSizes = [diff.old, diff.new].allSatisfy { $0.map { $0.size != nil } ?? true }
        let cells = [
            MarkdownText.cell("\(diff.collection)"), sides { "\($0.records)" }, "\(diff.counts.created)",
            "\(diff.counts.updated)", "\(diff.counts.deleted)", DiffWords.attachments(diff.attachments) ?? "",
            hasSizes ? sides { $0.size.map(ByteSize.text) ?? "" } : "", sides { "\($0.timestamp.rfc3339.prefix(10))" },
        ]
        return "| " + cells.joined(separator: " | ") + " |\n"
    }

    /// Appends the details of one collection's changes.
    ///
    /// - Returns: whether the details fitted within the limit.
    private func appendDetails(_ diff: SnapshotDiff, to page: inout BoundedText) -> Bool {
        var head = "\n#### \(MarkdownText.code("\(diff.collection)"))\n\n"
        for note in DiffWords.notes(diff) { head += "- \(MarkdownText.prose(VisibleText.excerpt(note)))\n" }
        if !diff.metadata.isEmpty {
            head += "- metadata\n" + lines(diff.metadata, isNew: false).joined(separator: "\n") + "\n"
        }
        guard page.append(head, reserving: Self.room) else { return false }
        var left = diff.records.count
        for change in diff.records.largest(Self.recordsPerCollection) {
            guard page.append(item(change), reserving: Self.room) else { break }
            left -= 1
        }
        if left > 0 { page.append("- … and \(left) more \(Counted.noun(left, "record"))\n") }
        return true
    }

    /// The number of bytes reserved for the lines about omitted changes.
    private static let room = 300

    private func item(_ change: RecordChange) -> String {
        var lines = ["- \(change.kind.rawValue) \(MarkdownText.code(bounded(change.id)))"]
        if let attachment = change.attachment {
            lines.append("  - attachment \(MarkdownText.code(bounded(DiffWords.attachment(attachment))))")
        }
        // For a deleted record, the id is enough here, because the old bundle still contains its fields.
        let fields = change.kind == .deleted ? FieldChanges() : DiffWords.fields(change)
        lines += self.lines(fields, isNew: change.kind == .created)
        return lines.joined(separator: "\n") + "\n"
    }

    /// Returns a line for each of the first few fields.
    private func lines(_ fields: FieldChanges, isNew: Bool) -> [String] {
        var lines: [String] = []
        for field in fields.shown.prefix(Self.fieldsPerRecord) {
            let values = FieldText(field, limit: Self.valueLimit)
            let name = MarkdownText.code(bounded(values.name))
            let old = values.old.map(MarkdownText.code)
            let new = values.new.map(MarkdownText.code)
            switch (old, new) {
            case (let old?, let new?): lines.append("  - \(name): \(old) → \(new)")
            case (nil, let new?): lines.append("  - \(name): \(isNew ? "" : "new, ")\(new)")
            case (let old?, nil): lines.append("  - \(name): removed, was \(old)")
            case (nil, nil): break
            }
        }
        let left = fields.shown.count + fields.omitted - lines.count
        if left > 0 {
            lines.append("  - … and \(left) more \(Counted.noun(left, "field"))")
        }
        return lines
    }

    private func bounded(_ text: String) -> String {
        VisibleText.excerpt(text, limit: Self.valueLimit)
    }
}
