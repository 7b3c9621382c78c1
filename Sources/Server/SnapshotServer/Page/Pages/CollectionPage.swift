import RemoteSettingsModel
import SnapshotBundle

/// The page of a collection: its provenance, and its records with paging and search.
struct CollectionPage {
    let collection: PageCatalog.Collection
    let listing: RecordListing
    let now: Timestamp

    private var id: CollectionID { collection.id }

    /// Returns the page.
    ///
    /// - Throws: `Failure` if the bundle cannot be read.
    func html() throws(Failure) -> HTMLWriter {
        let facts = CollectionFacts(
            collection: collection, manifest: try collection.bundle.manifest(),
            content: Manifest.digest(of: try collection.bundle.manifestText()), now: now)
        let records = try collection.bundle.payload().records
        let search = RecordSearch(listing.search)
        let found = listing.search.isEmpty ? Array(records) : records.filter(search.matches)
        return Frame.document(title: "\(id) – snapshot", trail: [("\(id)", .collection(id))]) { html in
            html.element(.h1) { $0.name(of: id) }
            facts.write(to: &html)
            if !collection.olderStates.isEmpty {
                html.element(.h2, .id("history"), text: "Changes")
                ChangesForm(collection: collection, from: nil, now: now).write(to: &html)
            }
            if ParametersPage.isOffered(for: records) {
                html.element(.h2, .id("parameters"), text: "Parameters")
                html.element(.p) { html in
                    html.element(
                        .a, .href(.parameters(id)),
                        text: "View the values of each parameter, in order of priority")
                }
            }
            html.element(.h2, .id("records"), text: "Records")
            html.searchForm(
                .collection(id), label: "Find records that contain all these words", search: listing.search,
                all: (.records(id, listing.with(search: "")), "All records"), showsAll: listing.isLarge)
            list(found, of: records.count, &html)
        }
    }

    private func list(_ found: [Record], of total: Int, _ html: inout HTMLWriter) {
        let range = listing.range(of: found.count)
        guard !range.isEmpty else {
            html.element(
                .p, text: total == 0 ? "This collection has no records." : "No record contains “\(listing.search)”.")
            return
        }
        let summaries = found[range].map(RecordSummary.init)
        let hasAttachments = summaries.contains { $0.attachment != nil }
        let columns = ["Record", "Fields", "Changed"] + (hasAttachments ? ["Attachment"] : [])
        html.table(
            hasAttachments ? "records with-files" : "records",
            caption: caption(range, found: found.count, total: total), columns: columns,
            rows: zip(found[range], summaries)
        ) { row, html in
            self.row(row.0, row.1, hasAttachments: hasAttachments, to: &html)
        }
        pages(found.count, &html)
    }

    private func caption(_ range: Range<Int>, found: Int, total: Int) -> String {
        let what =
            listing.search.isEmpty
            ? Wording.count(total, "record")
            : "\(Wording.number(found)) of \(Wording.count(total, "record")) contain “\(listing.search)”"
        guard range.count < found else { return what }
        return "\(what); this page shows \(Wording.number(range.lowerBound + 1)) to \(Wording.number(range.upperBound))"
    }

    private func row(_ record: Record, _ summary: RecordSummary, hasAttachments: Bool, to html: inout HTMLWriter) {
        html.element(.th, .role("rowheader"), .scope("row")) { html in
            // Ids up to the length of a UUID (36 characters) stay on one line.
            html.element(
                .a, .href(.record(id, record.id)), .class(record.id.utf8.count <= 36 ? "nowrap" : "long"),
                text: record.id)
        }
        html.element(.td, .role("cell"), .class("wide says")) { html in
            for field in summary.fields {
                html.element(.span, .class("member")) { html in
                    html.element(.span, .class("member-name"), text: field.key + " ")
                    html.element(.span, .class("string"), .ownDirection, text: field.value)
                }
            }
        }
        html.element(.td, .role("cell"), .cellLabel("Changed"), .class("nowrap")) { html in
            if let time = summary.lastModified {
                html.element(.time, .datetime(time.rfc3339), text: String(time.rfc3339.prefix(10)))
            }
        }
        guard hasAttachments else { return }
        html.element(.td, .role("cell"), .cellLabel("Attachment")) { html in
            if let attachment = summary.attachment { file(attachment, of: record, &html) }
        }
    }

    private func file(_ attachment: RecordAttachment, of record: Record, _ html: inout HTMLWriter) {
        let name = attachment.filename.isEmpty ? "attachment" : VisibleText.excerpt(attachment.filename, limit: 60)
        let size = Wording.size(Int(clamping: attachment.size))
        guard collection.bundle.contains(attachment.hash) else {
            html.element(.span, .class("soft"), text: "\(name), \(size), omitted")
            return
        }
        html.element(.div, .class("file")) { html in
            if attachment.mimetype.hasPrefix("image/"), attachment.size <= UInt64(PageAttachment.pictureBytes) {
                html.void(.img, .src(.attachment(id, record.id)), .alt(""), .width(32), .height(32), .loadsLate)
            }
            html.element(.a, .href(.download(id, record.id)), .download) { html in
                html.text(name)
                html.element(.span, .class("unseen"), text: ", attachment of \(record.id)")
            }
            html.element(.span, .class("soft nowrap"), text: size)
        }
    }

    private func pages(_ count: Int, _ html: inout HTMLWriter) {
        let pages = listing.pages(of: count)
        guard listing.isLarge ? count > RecordListing.pageSize : pages > 1 else { return }
        let page = min(listing.page, pages)
        html.element(.nav, .class("pages"), .ariaLabel("Pages of records")) { html in
            if page > 1 {
                html.element(.a, .href(.records(id, listing.with(page: page - 1))), text: "Previous page")
            }
            if pages > 1 { html.element(.span, text: "Page \(page) of \(pages)") }
            if page < pages {
                html.element(.a, .href(.records(id, listing.with(page: page + 1))), text: "Next page")
            }
            guard !listing.isLarge else {
                html.element(.a, .href(.records(id, listing.with(isLarge: false))), text: "Show in pages")
                return
            }
            let large = RecordListing.largePageSize
            html.element(
                .a, .href(.records(id, listing.with(isLarge: true))),
                text: count > large
                    ? "Show \(Wording.number(large)) on each page" : "Show all \(Wording.number(count)) on one page")
        }
    }
}
