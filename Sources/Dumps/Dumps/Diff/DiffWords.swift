import RemoteSettingsModel

/// Phrases shared by the renderers: counts and values in words. They are not escaped.
package enum DiffWords {
    /// Returns the summary of a report, such as `3 of 31 collections changed: 5 records created, 1 deleted; 2
    /// attachments added (12 KiB)`.
    package static func total(_ report: DiffReport) -> String {
        let count = report.collections.count
        let collections = Counted.text(count, "collection")
        guard !report.isSame else { return "\(collections), no difference" }
        if report.changed.isEmpty {
            let settings = Counted.text(report.settings.count, "setting")
            return "\(collections) unchanged; \(settings) of dumps.yaml changed"
        }
        let counts = self.counts(report.counts, report.attachments)
        let gone = report.changed.filter { $0.status == .removed }
        let deleted = gone.reduce(0) { $0.saturatingAdding($1.counts.deleted) }
        let note =
            deleted == 0
            ? ""
            : "; \(Counted.text(deleted, "deleted record")) \(Counted.noun(deleted, "belongs", plural: "belong")) to "
                + (gone.count == 1 ? "a removed collection" : "removed collections")
        return "\(report.changed.count) of \(collections) changed: \(counts ?? "no record changes")\(note)"
    }

    /// Returns the counts of one collection's changed records and attachments; `nil` if nothing changed.
    static func counts(_ diff: SnapshotDiff) -> String? { counts(diff.counts, diff.attachments) }

    private static func counts(_ records: RecordCounts, _ attachments: AttachmentCounts) -> String? {
        let words = [
            counted(RecordChange.Kind.allCases.map { (records[$0], $0.rawValue) }, of: "record"),
            self.attachments(attachments),
        ].compactMap(\.self)
        return words.isEmpty ? nil : words.joined(separator: "; ")
    }

    /// Returns the counts of attachments, such as `2 attachments added (12 KiB), 1 removed (300 B)`; `nil` if none
    /// changed.
    static func attachments(_ counts: AttachmentCounts) -> String? {
        guard
            let words = counted(
                [(counts.added, "added"), (counts.changed, "changed"), (counts.removed, "removed")], of: "attachment")
        else { return nil }
        let sizes = [(counts.addedBytes, "+"), (counts.removedBytes, "-")].filter { $0.0 > 0 }
        return words + (sizes.isEmpty ? "" : " (\(sizes.map { $0.1 + ByteSize.text($0.0) }.joined(separator: ", ")))")
    }

    /// Returns a change of an attachment, such as `a.svg, 1.2 KiB → 1.3 KiB`. The file names come from untrusted
    /// records.
    static func attachment(_ change: AttachmentChange) -> String {
        func text(_ attachment: RecordAttachment) -> String { "\(name(attachment)), \(ByteSize.text(attachment.size))" }
        switch change {
        case .added(let new): return text(new)
        case .removed(let old): return text(old)
        case .changed(let old, let new):
            if name(old) != name(new) { return "\(text(old)) → \(text(new))" }
            if old.hash == new.hash { return "\(text(new)), same file, now at \(new.location)" }
            let sizes = [old.size, new.size].map(ByteSize.text)
            return sizes[0] == sizes[1]
                ? "\(name(new)), content changed, \(sizes[1])" : "\(name(new)), \(sizes[0]) → \(sizes[1])"
        }
    }

    static func name(_ attachment: RecordAttachment) -> String {
        attachment.filename.isEmpty ? attachment.location : attachment.filename
    }

    static func trust(_ side: SnapshotDiff.Side, withRoot: Bool = false) -> String {
        switch side.trust {
        case .signed:
            side.verdict.map { "signed by \($0.signer)" + (withRoot ? ", root \($0.root.hex.prefix(16))…" : "") }
                ?? "signed"
        case .unsigned: "unsigned"
        case .imported: "imported without a signature"
        }
    }

    /// Returns notes about changes of a collection that are not in its records. They contain untrusted names.
    static func notes(_ diff: SnapshotDiff) -> [String] {
        guard let old = diff.old, let new = diff.new else { return [] }
        var notes: [String] = []
        if old.collection != new.collection { notes.append("\(old.collection) is compared with \(new.collection)") }
        if new.timestamp < old.timestamp { notes.append("the new side is older than the old one") }
        if diff.status == .changed, diff.records.isEmpty, diff.metadata.isEmpty, old.timestamp != new.timestamp {
            notes.append("only the timestamp changed")
        }
        if diff.isOnlySignedAgain {
            let ends = [old, new].compactMap { $0.verdict.map { "\($0.chainNotAfter.rfc3339.prefix(10))" } }
            notes.append("only signed again" + (ends.first != ends.last ? ", valid until \(ends[0]) → \(ends[1])" : ""))
        }
        let (before, after) = (trust(old, withRoot: diff.hasOtherRoot), trust(new, withRoot: diff.hasOtherRoot))
        // A signer that is unknown on one side is not a difference.
        let isOnlyUnnamed = old.trust == new.trust && (old.verdict == nil || new.verdict == nil)
        if diff.status == .changed, before != after, !isOnlyUnnamed {
            notes.append("\(before) → \(after)")
        }
        // Omit the note if the counts changed only because the records changed.
        if let before = old.packagedAttachments, let after = new.packagedAttachments,
            after - before != diff.attachments.added - diff.attachments.removed
                || !diff.packaging.added.isEmpty || !diff.packaging.removed.isEmpty
        {
            let files = [("added", diff.packaging.added), ("removed", diff.packaging.removed)].filter { !$0.1.isEmpty }
            notes.append(
                (["attachments in the bundle: \(before) → \(after)"]
                    + files.map { "\($0) \(Counted.list($1))" }).joined(separator: "; "))
        }
        if new.timestamp != old.timestamp { notes += new.accepted.map { "accepted despite a guard: \($0)" } }
        return notes
    }

    /// Returns the fields to show: all except the time of the change and those shown in the attachment's line.
    static func fields(_ change: RecordChange) -> FieldChanges {
        let hidden = ["last_modified", "id"] + (change.attachment == nil ? [] : ["attachment"])
        return change.fields { !hidden.contains($0.root) }
    }

    /// Returns counts in words, such as `2 records created, 1 deleted`; `nil` if all are zero.
    private static func counted(_ counts: [(count: Int, word: String)], of noun: String) -> String? {
        let present = counts.filter { $0.count > 0 }
        guard let first = present.first else { return nil }
        return
            ([
                "\(Counted.text(first.count, noun)) \(first.word)"
            ] + present.dropFirst().map { "\($0.count) \($0.word)" }).joined(separator: ", ")
    }
}
