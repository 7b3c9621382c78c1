import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// The page that shows the changes in a collection since an older snapshot.
struct ChangesPage {
    /// The maximum number of records to show for each kind of change. The rest are only counted.
    static let shownRecords = 500
    let collection: PageCatalog.Collection
    let query: String
    let now: Timestamp
    /// Whether a client is still waiting for the page.
    let isWanted: @Sendable () -> Bool

    private var id: CollectionID { collection.id }

    /// Returns the page.
    ///
    /// - Throws: an error if either snapshot cannot be read.
    func answer() async throws -> PageAnswer {
        let trail = [("\(id)", PageLink.collection(id)), ("Changes", .changes(id))]
        let wanted = FormText.parameter("from", of: query)
        let older = collection.olderStates.first { wanted == nil || "\($0.timestamp)" == wanted }
        guard let older else {
            return ProblemPage.notFound(
                collection.olderStates.isEmpty
                    ? "This server has no older snapshot of \(id)."
                    : "This server has no snapshot of \(id) with that timestamp.")
        }
        let old = try await older.bundle()
        let diff = SnapshotDiff(from: try ComparedSnapshot(old), to: try ComparedSnapshot(collection.bundle))
        let html = Frame.document(title: "Changes in \(id)", trail: trail) { html in
            html.element(.h1) { html in
                html.text("Changes in ")
                html.name(of: id)
            }
            html.element(.p, .class("lead")) { html in
                html.text("From ")
                html.time(older.timestamp)
                html.text(" to ")
                html.time(collection.bundle.head.timestamp)
            }
            ChangesForm(collection: collection, from: older.timestamp, now: now).write(to: &html)
            guard let changes = diff?.records, !changes.isEmpty else {
                html.element(.p, text: "No records changed.")
                return
            }
            var left = DiffLimits.pageRecordBytes
            section("Updated", .updated, of: changes, left: &left, to: &html)
            section("Created", .created, of: changes, left: &left, to: &html)
            section("Deleted", .deleted, of: changes, left: &left, to: &html)
        }
        return .document(html)
    }

    private func section(
        _ title: String, _ kind: RecordChange.Kind, of changes: ChangedRecords, left: inout Int,
        to html: inout HTMLWriter
    ) {
        let count = changes.counts[kind]
        guard count > 0 else { return }
        html.element(.h2, text: "\(title): \(Wording.count(count, "record"))")
        var shown = 0
        html.element(.ul, .class("changes")) { html in
            for change in changes.lazy.filter({ $0.kind == kind }).prefix(Self.shownRecords) {
                guard left > 0, isWanted() else { break }
                left -= change.bytes
                shown += 1
                html.newline()
                html.element(.li) { record(change, &$0) }
            }
        }
        if count > shown {
            html.element(
                .p,
                text: "\(Wording.count(count - shown, "more record")) \(count - shown == 1 ? "is" : "are") not shown.")
        }
    }

    private func record(_ change: RecordChange, _ html: inout HTMLWriter) {
        html.element(.h3) { html in
            if change.kind == .deleted {
                html.text(change.id)
            } else {
                html.element(.a, .href(.record(id, change.id)), text: change.id)
            }
        }
        html.element(.dl) { html in
            let fields = change.fields { change.kind == .updated || $0.root != "id" }
            for field in fields.shown {
                let excerpt = FieldText(field, separator: " › ")
                html.element(.dt, text: excerpt.name)
                html.element(.dd) { html in
                    if let old = excerpt.old { line(.del, word: "before ", colour: "care", value: old, to: &html) }
                    if let new = excerpt.new { line(.ins, word: "after ", colour: "good", value: new, to: &html) }
                }
            }
            if fields.omitted > 0 {
                html.element(.dt, text: "… and \(Wording.count(fields.omitted, "more field"))")
            }
        }
    }

    private func line(
        _ tag: HTMLWriter.Tag, word: String, colour: StaticString, value: String, to html: inout HTMLWriter
    ) {
        html.element(tag, .class(colour)) { html in
            html.element(.span, .class("member-name"), text: word)
            html.element(.span, .class("string"), .ownDirection, text: value)
        }
    }
}
