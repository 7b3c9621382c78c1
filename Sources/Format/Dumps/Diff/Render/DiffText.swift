import RemoteSettingsModel

/// A comparison as text for a terminal. Control characters from records are escaped.
package struct DiffText {
    /// The role of a part of the text. Its colour depends on it.
    package enum Role: Hashable, Sendable {
        case created
        case updated
        case deleted
        case dim
    }

    /// The most characters that are shown of a value.
    static let valueLimit = 400

    private let report: DiffReport
    private let showsRecords: Bool
    private let paint: (String, Role) -> String

    /// Makes the text of a comparison.
    ///
    /// - Parameters:
    ///   - showsRecords: whether to show each record, or only how many records of a collection changed.
    ///   - paint: adds the colour of a role to a text. By default, texts are not coloured.
    package init(
        _ report: DiffReport, showsRecords: Bool = true, paint: @escaping (String, Role) -> String = { text, _ in text }
    ) {
        self.report = report
        self.showsRecords = showsRecords
        self.paint = paint
    }

    /// The whole text, without a line feed at the end.
    package var text: String {
        var lines: [String] = []
        forEachLine { lines.append($0) }
        return lines.joined(separator: "\n")
    }

    /// Passes the lines to `body`, without line feeds. The whole text is never in memory, not even for a million
    /// changes.
    package func forEachLine(_ body: (String) -> Void) {
        if !report.settings.isEmpty { body(paint("~ dumps.yaml", .updated)) }
        for change in report.settings { setting(change).forEach(body) }
        for diff in report.changed {
            head(diff).forEach(body)
            guard showsRecords else { continue }
            for change in diff.metadata { field(change, "metadata.").forEach(body) }
            for change in diff.records { record(change).forEach(body) }
        }
        body(DiffWords.total(report))
    }

    /// The lines of a collection, except those of its records.
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
        lines += DiffWords.notes(diff).map { "    " + VisibleText.escape($0) }
        if !showsRecords, let counts = DiffWords.counts(diff) { lines.append("    \(counts)") }
        if !showsRecords, !diff.metadata.isEmpty { lines.append("    metadata changed") }
        return lines
    }

    private func describe(_ side: SnapshotDiff.Side) -> String {
        "\(records(side.records))  " + paint(side.timestamp.rfc3339, .dim)
            + "  \(VisibleText.escape(DiffWords.trust(side)))"
    }

    private func records(from old: Int, to new: Int) -> String {
        old == new ? records(new) : "\(old) → \(records(new))"
    }

    private func records(_ count: Int) -> String { Counted.text(count, "record") }

    private func setting(_ change: SettingChange) -> [String] {
        let name = VisibleText.escape(change.name)
        return [
            change.old.map { paint("      - \(name): \(VisibleText.escape($0))", .deleted) },
            change.new.map { paint("      + \(name): \(VisibleText.escape($0))", .created) },
        ].compactMap(\.self)
    }

    private func field(_ change: FieldChange, _ prefix: String) -> [String] {
        let name = VisibleText.escape(prefix + change.path.joined(separator: "."))
        let values = ValueExcerpt(change, limit: Self.valueLimit)
        return [
            values.old.map { paint("      - \(name): \($0)", .deleted) },
            values.new.map { paint("      + \(name): \($0)", .created) },
        ].compactMap(\.self)
    }

    /// The lines of one record.
    func record(_ change: RecordChange) -> [String] {
        let id = VisibleText.escape(change.id)
        var lines: [String]
        switch change.kind {
        case .created: lines = [paint("  + \(id)", .created)]
        case .updated: lines = [paint("  ~ \(id)", .updated)]
        case .deleted: lines = [paint("  - \(id)", .deleted)]
        }
        lines += DiffWords.fields(change).flatMap { field($0, "") }
        if let attachment = change.attachment {
            let text = VisibleText.escape(DiffWords.attachment(attachment))
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
