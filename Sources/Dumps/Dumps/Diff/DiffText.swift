import RemoteSettingsModel

/// A comparison as text for a terminal. Control characters from records are escaped.
package struct DiffText {
    /// The role of a part of the text, which determines its color.
    package enum Role: Hashable, Sendable {
        case created
        case updated
        case deleted
        case dim
    }

    private let report: DiffReport
    private let showsRecords: Bool
    private let paint: (String, Role) -> String

    /// Creates the text of a comparison.
    ///
    /// - Parameters:
    ///   - showsRecords: whether to show each record, or only the number of changed records in each collection.
    ///   - paint: adds the color of a role to a string. By default, strings are not colored.
    package init(
        _ report: DiffReport, showsRecords: Bool = true, paint: @escaping (String, Role) -> String = { text, _ in text }
    ) {
        self.report = report
        self.showsRecords = showsRecords
        self.paint = paint
    }

    /// The whole text, without a trailing line feed.
    var text: String {
        var lines: [String] = []
        forEachLine { lines.append($0) }
        return lines.joined(separator: "\n")
    }

    /// Passes the lines to `body`, without line feeds. The whole text is never in memory, even with a million changes.
    package func forEachLine(limit: Int = DiffLimits.reportBytes, _ body: (String) -> Void) {
        var left = limit
        if !report.settings.isEmpty { body(paint("~ dumps.yaml", .updated)) }
        for change in report.settings { setting(change).forEach(body) }
        guard showsRecords else {
            counts(report.changed).forEach(body)
            return body(DiffWords.total(report))
        }
        for diff in report.changed {
            head(diff).forEach(body)
            fields(diff.metadata, "metadata.").forEach(body)
            forEachLine(of: diff.records, left: &left, body)
        }
        body(DiffWords.total(report))
    }

    /// Passes the lines of records to `body` until the report reaches its size limit.
    func forEachLine(of changes: some RandomAccessCollection<RecordChange>, left: inout Int, _ body: (String) -> Void) {
        for (position, change) in changes.enumerated() {
            guard left > 0 else { return body("  … and \(Counted.text(changes.count - position, "more record"))") }
            for line in record(change) {
                left -= line.utf8.count + 1
                body(line)
            }
        }
    }

    /// Returns the lines of a collection, except those of its records.
    private func head(_ diff: SnapshotDiff) -> [String] {
        let name = "\(diff.collection)"
        var lines: [String]
        switch (diff.old, diff.new) {
        case (nil, let side?): lines = [paint("+ \(name)", .created) + "  " + describe(side)]
        case (let side?, nil): lines = [paint("- \(name)", .deleted) + "  " + describe(side)]
        case (let old?, let new?):
            lines = [
                paint("~ \(name)", .updated) + "  \(records(from: old.records, to: new.records))  "
                    + paint("\(old.timestamp.rfc3339) → \(new.timestamp.rfc3339)", .dim)
            ]
        case (nil, nil): lines = []
        }
        return lines + notes(diff)
    }

    private func notes(_ diff: SnapshotDiff) -> [String] {
        DiffWords.notes(diff).map { "    " + VisibleText.excerpt($0) }
    }

    /// Returns one line per collection, in columns: name, records, dates and changes.
    private func counts(_ changed: [SnapshotDiff]) -> [String] {
        let rows = changed.map { diff in
            let sides = [diff.old, diff.new].compactMap(\.self)
            let (first, last) = (sides.first?.records ?? 0, sides.last?.records ?? 0)
            var dates = sides.map { "\($0.timestamp.rfc3339.prefix(10))" }
            if dates.first == dates.last { dates = Array(dates.prefix(1)) }
            var words = DiffWords.counts(diff).map { [$0] } ?? []
            if !diff.metadata.isEmpty { words.append("metadata changed") }
            if sides.count == 1, let side = sides.first { words.append(VisibleText.excerpt(DiffWords.trust(side))) }
            return ("\(diff.collection)", records(from: first, to: last), dates.joined(separator: " → "), words)
        }
        let widths = (rows.map(\.0.count).max() ?? 0, rows.map(\.1.count).max() ?? 0, rows.map(\.2.count).max() ?? 0)
        func filled(_ text: String, _ width: Int) -> String {
            text + String(repeating: " ", count: max(0, width - text.count) + 2)
        }
        return zip(changed, rows).flatMap { diff, row in
            let (mark, role): (String, Role) =
                diff.old == nil ? ("+", .created) : diff.new == nil ? ("-", .deleted) : ("~", .updated)
            let line =
                paint("\(mark) \(row.0)", role) + filled("", widths.0 - row.0.count) + filled(row.1, widths.1)
                + paint(filled(row.2, widths.2), .dim) + row.3.joined(separator: "; ")
            return [line] + notes(diff)
        }
    }

    private func describe(_ side: SnapshotDiff.Side) -> String {
        "\(records(side.records))  " + paint(side.timestamp.rfc3339, .dim)
            + "  \(VisibleText.excerpt(DiffWords.trust(side)))"
    }

    private func records(from old: Int, to new: Int) -> String {
        old == new ? records(new) : "\(old) → \(records(new))"
    }

    private func records(_ count: Int) -> String { Counted.text(count, "record") }

    private func setting(_ change: SettingChange) -> [String] {
        let name = VisibleText.excerpt(change.name)
        return [
            change.old.map { paint("      - \(name): \(VisibleText.excerpt($0))", .deleted) },
            change.new.map { paint("      + \(name): \(VisibleText.excerpt($0))", .created) },
        ].compactMap(\.self)
    }

    private func fields(_ changes: FieldChanges, _ prefix: String = "") -> [String] {
        let lines = changes.shown.flatMap { change in
            let text = FieldText(change)
            return [
                text.old.map { paint("      - \(prefix)\(text.name): \($0)", .deleted) },
                text.new.map { paint("      + \(prefix)\(text.name): \($0)", .created) },
            ].compactMap(\.self)
        }
        return changes.omitted == 0 ? lines : lines + ["      … and \(Counted.text(changes.omitted, "more field"))"]
    }

    /// Returns the first line of a record.
    func head(_ change: RecordChange) -> String {
        let id = VisibleText.excerpt(change.id)
        switch change.kind {
        case .created: return paint("  + \(id)", .created)
        case .updated: return paint("  ~ \(id)", .updated)
        case .deleted: return paint("  - \(id)", .deleted)
        }
    }

    /// Returns the lines of one record.
    private func record(_ change: RecordChange) -> [String] {
        var lines = [head(change)] + fields(DiffWords.fields(change))
        if let attachment = change.attachment {
            let text = VisibleText.excerpt(DiffWords.attachment(attachment))
            switch attachment {
            case .added: lines.append(paint("      + attachment: \(text)", .created))
            case .removed: lines.append(paint("      - attachment: \(text)", .deleted))
            case .changed: lines.append(paint("      ~ attachment: \(text)", .updated))
            }
        }
        if lines.count == 1, change.kind == .updated { lines.append(paint("      last_modified only", .dim)) }
        return lines
    }
}
