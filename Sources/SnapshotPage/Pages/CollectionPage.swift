import RemoteSettingsModel
import SnapshotBundle

/// A collection: what vouches for it, and its records, searched and in pages.
struct CollectionPage {
    let collection: PageCatalog.Collection
    let listing: RecordListing
    let now: Timestamp

    private var id: CollectionID { collection.id }

    /// - Throws: `BundleError` where the bundle cannot be read.
    func html() throws(BundleError) -> HTMLWriter {
        let facts = CollectionFacts(
            collection: collection, manifest: try collection.bundle.manifest(),
            content: Manifest.digest(of: try collection.bundle.manifestText()), now: now)
        let records = try collection.bundle.payload().records
        let search = RecordSearch(listing.search)
        let found = listing.search.isEmpty ? Array(records) : records.filter(search.matches)
        return Frame.document(title: "\(id) – snapshot", trail: [("\(id)", .collection(id))]) { html in
            html.element(.h1) { $0.name(of: id) }
            facts.write(to: &html)
            if !collection.olderStates.isEmpty { olderStates(&html) }
            if ParametersPage.isOffered(for: records) {
                html.element(.h2, .id("parameters"), text: "Parameters")
                html.element(.p) { html in
                    html.element(
                        .a, .href(.parameters(id, DescribedDevice(query: ""))),
                        text: "Which values does a device get, and why?")
                }
            }
            html.element(.h2, .id("records"), text: "Records")
            form(&html)
            list(found, of: records.count, &html)
        }
    }

    private func olderStates(_ html: inout HTMLWriter) {
        html.element(.h2, .id("history"), text: "Changes")
        ChangesForm(collection: collection, from: nil, now: now).write(to: &html)
    }

    private func form(_ html: inout HTMLWriter) {
        html.element(.form, .class("search"), .role("search"), .get, .action(.collection(id))) { html in
            html.element(.div, .class("field")) { html in
                html.element(.label, .for("q"), text: "Find records that contain all these words")
                html.void(.input, .id("q"), .type("search"), .name("q"), .value(listing.search))
            }
            if listing.isWhole { html.void(.input, .type("hidden"), .name("show"), .value("all")) }
            html.element(.button, .type("submit"), text: "Find")
            if !listing.search.isEmpty {
                html.element(.a, .href(.records(id, listing.without())), text: "All records")
            }
        }
    }

    private func list(_ found: [Record], of total: Int, _ html: inout HTMLWriter) {
        let range = listing.range(of: found.count)
        guard !range.isEmpty else {
            html.element(
                .p, text: total == 0 ? "The collection has no records." : "No record contains “\(listing.search)”.")
            return
        }
        let summaries = found[range].map(RecordSummary.init)
        let hasAttachments = summaries.contains { $0.attachment != nil }
        html.element(.table, .class(hasAttachments ? "records with-files" : "records"), .role("table")) { html in
            html.element(.caption, text: caption(range, found: found.count, total: total))
            html.element(.thead, .role("rowgroup")) { html in
                html.element(.tr, .role("row")) { html in
                    html.columnHeading("Record")
                    html.columnHeading("Fields")
                    html.columnHeading("Changed")
                    if hasAttachments { html.columnHeading("Attachment") }
                }
            }
            html.element(.tbody, .role("rowgroup")) { html in
                for (record, summary) in zip(found[range], summaries) {
                    html.newline()
                    row(record, summary, hasAttachments: hasAttachments, &html)
                }
            }
        }
        pages(found.count, &html)
    }

    private func caption(_ range: Range<Int>, found: Int, total: Int) -> String {
        let what =
            listing.search.isEmpty
            ? Wording.count(total, "record", "records")
            : "\(Wording.number(found)) of \(Wording.count(total, "record", "records")) contain “\(listing.search)”"
        guard range.count < found else { return what }
        return "\(what), here \(Wording.number(range.lowerBound + 1)) to \(Wording.number(range.upperBound))"
    }

    private func row(
        _ record: Record, _ summary: RecordSummary, hasAttachments: Bool, _ html: inout HTMLWriter
    ) {
        html.element(.tr, .role("row")) { html in
            html.element(.th, .role("rowheader"), .scope("row")) { html in
                // A UUID has 36 characters.
                html.element(
                    .a, .href(.record(id, record.id)), .class(record.id.utf8.count <= 36 ? "nowrap" : "long"),
                    text: record.id)
            }
            html.element(.td, .role("cell"), .class("wide says")) { html in
                for field in summary.fields {
                    html.element(.span, .class("field")) { html in
                        html.element(.span, .class("field-name"), text: field.key + " ")
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
    }

    private func file(_ attachment: RecordAttachment, of record: Record, _ html: inout HTMLWriter) {
        let name = attachment.filename.isEmpty ? "attachment" : String(attachment.filename.prefix(60))
        let size = Wording.size(Int(clamping: attachment.size))
        guard collection.bundle.contains(attachment.hash) else {
            html.element(.span, .class("soft"), text: "\(name), \(size), left out")
            return
        }
        html.element(.div, .class("file")) { html in
            if attachment.mimetype.hasPrefix("image/"), attachment.size <= UInt64(PageAttachment.pictureBytes) {
                html.void(
                    .img, .src(.attachment(id, record.id)), .alt(""), .width(32), .height(32), .loadsLate)
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
        guard pages > 1 else { return }
        let page = min(listing.page, pages)
        html.element(.nav, .class("pages"), .ariaLabel("Pages of records")) { html in
            guard !listing.isWhole else {
                html.element(.a, .href(.records(id, listing.with(isWhole: false))), text: "Show in pages")
                return
            }
            if page > 1 {
                html.element(.a, .href(.records(id, listing.with(page: page - 1))), text: "Previous page")
            }
            html.element(.span, text: "Page \(page) of \(pages)")
            if page < pages {
                html.element(.a, .href(.records(id, listing.with(page: page + 1))), text: "Next page")
            }
            html.element(
                .a, .href(.records(id, listing.with(isWhole: true))),
                text: "Show all \(Wording.number(count)) on one page")
        }
    }
}
