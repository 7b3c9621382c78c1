import RemoteSettingsModel
import SnapshotBundle

/// The page that shows one complete record, with its attachment.
struct RecordPage {
    private let collection: PageCatalog.Collection
    private let record: Record
    private let neighbours: (previous: String?, next: String?)

    /// Creates the page.
    ///
    /// - Returns: `nil` if the snapshot has no such record.
    init?(collection: PageCatalog.Collection, records: RecordTable, id: String) {
        guard let position = records.firstIndex(where: { $0.id == id }) else { return nil }
        self.collection = collection
        record = records[position]
        neighbours = (
            position > 0 ? records[position - 1].id : nil,
            position + 1 < records.count ? records[position + 1].id : nil
        )
    }

    private var id: CollectionID { collection.id }

    /// Returns the page.
    ///
    /// - Throws: `Failure` or `Failure` if the record or its attachment cannot be read.
    func html() throws -> HTMLWriter {
        let attachment = try record.attachment()
        let preview = try attachment.map { try AttachmentPreview($0, in: collection.bundle) }
        let value = try JSONValue(parsing: record.json)
        let trail = [("\(id)", PageLink.collection(id)), (record.id, .record(id, record.id))]
        return Frame.document(title: "\(record.id) – \(id)", trail: trail) { html in
            html.element(.h1, text: record.id)
            html.element(.p, .class("lead")) { html in
                html.text("Record in ")
                html.element(.a, .href(.collection(id)), text: "\(id)")
            }
            if let attachment, let preview { file(attachment, preview, to: &html) }
            html.element(.h2, .id("json"), text: "Record")
            html.element(.pre, .focusable, .role("region"), .labelledBy("json")) { html in
                html.element(.code) { JSONView.write(value, to: &$0) }
            }
            html.element(.nav, .class("pages"), .ariaLabel("Previous and next record")) { html in
                if let previous = neighbours.previous {
                    html.element(.a, .href(.record(id, previous)), text: "Previous: \(previous)")
                }
                if let next = neighbours.next {
                    html.element(.a, .href(.record(id, next)), text: "Next: \(next)")
                }
            }
        }
    }

    private func file(_ attachment: RecordAttachment, _ preview: AttachmentPreview, to html: inout HTMLWriter) {
        let name = attachment.filename.isEmpty ? "unnamed" : VisibleText.excerpt(attachment.filename, limit: 200)
        html.element(.h2, .id("attachment"), text: "Attachment")
        html.element(.figure) { html in
            switch preview {
            case .picture:
                html.void(.img, .src(.attachment(id, record.id)), .alt("Attachment \(name)"))
            case .text(let text, let isWhole):
                html.element(
                    .pre, .class("file-text"), .focusable, .role("region"), .ariaLabel("Text of the attachment"),
                    text: text)
                if !isWhole {
                    html.element(
                        .p, .class("soft"),
                        text: "Only the first \(Wording.size(AttachmentPreview.textBytes)) are shown.")
                }
            case .none, .missing: break
            }
            html.element(.figcaption) { html in
                html.element(.span, .ownDirection, text: name)
                html.text(", \(Wording.size(Int(clamping: attachment.size)))")
                if !attachment.mimetype.isEmpty {
                    html.text(", \(VisibleText.excerpt(attachment.mimetype, limit: 100))")
                }
                html.text(". ")
                if case .missing = preview {
                    html.text("The attachment is not in the bundle.")
                } else {
                    html.element(.a, .href(.download(id, record.id)), .download, text: "Download")
                }
            }
        }
    }
}
