import RemoteSettingsModel
import SnapshotBundle

/// The front page, which lists all served collections.
struct CollectionsPage {
    let catalog: PageCatalog
    let search: String
    let now: Timestamp

    var html: HTMLWriter {
        Frame.document(title: "Remote Settings snapshots") { html in
            html.element(.h1, text: "Remote Settings snapshots")
            html.element(.p, .class("lead"), text: summary)
            problems(&html)
            html.searchForm(
                .home, label: "Find a collection by its name", search: search, all: (.home, "All collections"))
            table(&html)
        }
    }

    private var found: [PageCatalog.Collection] {
        let words = search.lowercased().split(whereSeparator: \.isWhitespace)
        return catalog.collections.filter { collection in
            let name = "\(collection.id)".lowercased()
            return words.allSatisfy { name.contains($0) }
        }
    }

    private var summary: String {
        let heads = catalog.collections.map(\.bundle.head)
        var parts = [
            Wording.count(heads.count, "collection"),
            Wording.count(heads.saturatingSum(\.records), "record"),
            Wording.count(heads.saturatingSum(\.attachments), "attachment"),
            Wording.size(catalog.collections.saturatingSum(\.bundleSize)),
        ]
        if let newest = heads.map(\.timestamp).max() { parts.append("newest data: \(Wording.ago(newest, at: now))") }
        return parts.joined(separator: " · ")
    }

    /// The most common signer. The page shows it only once, not for each collection.
    private var usualSigner: String? {
        var counts: [ExactString: Int] = [:]
        for collection in catalog.collections {
            if let signer = collection.provenance.verdict?.signer { counts[signer.exact, default: 0] += 1 }
        }
        return counts.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key.string
    }

    /// Writes the collections whose bundles do not match the lock file, and the reasons.
    private func problems(_ html: inout HTMLWriter) {
        for (id, problem) in catalog.problems.sorted(by: { $0.key < $1.key }) {
            html.element(.p, .class("notice bad")) { html in
                html.element(.strong, text: "\(id) does not match the lock file.  ")
                html.text(problem)
            }
        }
    }

    private func table(_ html: inout HTMLWriter) {
        let found = found
        guard !found.isEmpty else {
            html.element(
                .p,
                text: catalog.collections.isEmpty
                    ? "There are no collections yet. Fetch them with rsdump refresh."
                    : "No collection has “\(search)” in its name.")
            return
        }
        let usualSigner = usualSigner
        let hasPins = found.contains { $0.pin != nil }
        let numbers = ["Records", "Attachments", "Size"]
        let columns = ["Collection", "Timestamp", "Age"] + numbers + ["Signature"] + (hasPins ? ["Pin"] : [])
        let caption =
            (search.isEmpty ? "All collections, by name." : "Collections named like “\(search)”.")
            + (usualSigner.map { " Signed by \($0), except where another signer is shown." } ?? "")
        html.table(
            "collections", caption: caption, columns: columns, numbers: numbers, rows: found
        ) { collection, html in
            row(collection, usualSigner: usualSigner, hasPins: hasPins, &html)
        }
    }

    private func row(
        _ collection: PageCatalog.Collection, usualSigner: String?, hasPins: Bool, _ html: inout HTMLWriter
    ) {
        let head = collection.bundle.head
        html.element(.th, .role("rowheader"), .scope("row")) { html in
            html.element(.a, .href(.collection(collection.id))) { $0.name(of: collection.id) }
        }
        html.element(.td, .role("cell"), .cellLabel("Timestamp"), .class("wide")) { html in
            html.time(head.timestamp)
            html.element(.small, text: "\(head.timestamp)")
        }
        html.element(
            .td, .role("cell"), .cellLabel("Age"), .class("nowrap"), text: Wording.age(of: head.timestamp, at: now))
        html.element(.td, .role("cell"), .cellLabel("Records"), .class("number"), text: Wording.number(head.records))
        html.element(.td, .role("cell"), .cellLabel("Attachments"), .class("number")) { html in
            html.text(Wording.number(head.attachments))
            if head.omitted > 0 { html.element(.small, text: "\(Wording.number(head.omitted)) omitted") }
        }
        html.element(
            .td, .role("cell"), .cellLabel("Size"), .class("number nowrap"),
            text: Wording.size(collection.bundleSize))
        html.element(.td, .role("cell"), .cellLabel("Signature"), .class("wide beside")) { html in
            html.provenance(collection.provenance)
            if let signer = collection.provenance.verdict?.signer, signer != usualSigner {
                html.element(.small, text: signer)
            }
        }
        if hasPins {
            html.element(.td, .role("cell"), .cellLabel("Pin"), .class("wide beside"), text: collection.pin ?? "")
        }
    }
}

extension HTMLWriter {
    /// Writes a table with a heading for each column. `write` writes the cells of a row.
    mutating func table<Row>(
        _ kind: StaticString, caption: String, columns: [String], numbers: [String] = [], rows: some Sequence<Row>,
        write: (Row, inout HTMLWriter) -> Void
    ) {
        element(.table, .class(kind), .role("table")) { html in
            html.element(.caption, text: caption)
            html.element(.thead, .role("rowgroup")) { html in
                html.element(.tr, .role("row")) { html in
                    for column in columns {
                        html.element(
                            .th, .role("columnheader"), .scope("col"),
                            .class(numbers.contains(column) ? "number" : "column"), text: column)
                    }
                }
            }
            html.element(.tbody, .role("rowgroup")) { html in
                for row in rows {
                    html.newline()
                    html.element(.tr, .role("row")) { write(row, &$0) }
                }
            }
        }
    }

    /// Writes a search form that contains the words of `search`. If there are any, a link clears the search.
    mutating func searchForm(
        _ action: PageLink, label: String, search: String, all: (link: PageLink, text: String), showsAll: Bool = false
    ) {
        element(.form, .class("search"), .role("search"), .get, .action(action)) { html in
            html.element(.div, .class("field")) { html in
                html.element(.label, .for("q"), text: label)
                html.void(.input, .id("q"), .type("search"), .name("q"), .value(search))
            }
            if showsAll { html.void(.input, .type("hidden"), .name("show"), .value("all")) }
            html.element(.button, .type("submit"), text: "Find")
            if !search.isEmpty { html.element(.a, .href(all.link), text: all.text) }
        }
    }
}
