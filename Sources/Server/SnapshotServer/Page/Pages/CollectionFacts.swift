import RemoteSettingsModel
import SnapshotBundle

/// The facts about a snapshot as a whole, as a description list.
struct CollectionFacts {
    let collection: PageCatalog.Collection
    let manifest: Manifest
    let content: SHA256Digest
    let now: Timestamp

    func write(to html: inout HTMLWriter) {
        let head = manifest.head
        html.element(.dl, .class("facts")) { html in
            fact("Timestamp", &html) { html in
                html.time(head.timestamp)
                html.element(.small, text: "\(head.timestamp) ms, \(Wording.ago(head.timestamp, at: now))")
            }
            fact("Records", &html) { $0.text(Wording.number(head.records)) }
            fact("Attachments", &html) { html in
                let size = manifest.packed.saturatingSum(\.size)
                html.text(Wording.number(head.attachments) + (size > 0 ? " (\(Wording.size(size)))" : ""))
                for omission in manifest.omissions {
                    html.element(
                        .small,
                        text: "\(Wording.number(omission.count)) omitted (\(omission.reason), "
                            + "\(Wording.size(omission.bytes)))")
                }
            }
            fact("Bundle", &html) { $0.text(Wording.size(collection.bundleSize)) }
            fact("Signature", isWide: true, &html, signature)
            fact("Content", isWide: true, &html) { $0.element(.code, text: content.hex) }
            if let server = collection.server { fact("Source", isWide: true, &html) { $0.text(server) } }
            if let pin = collection.pin { fact("Pinned", isWide: true, &html) { $0.text(pin) } }
        }
    }

    private func signature(_ html: inout HTMLWriter) {
        html.provenance(collection.provenance)
        guard let signature = collection.provenance.verdict else { return }
        html.element(.small, text: "by \(signature.signer)")
        html.element(.small, text: "verified at \(Wording.date(signature.verifiedAt)) UTC")
        html.element(.small, text: "chain expires \(Wording.date(signature.chainNotAfter)) UTC")
        html.element(.small, text: "root \(signature.root)")
    }

    private func fact(
        _ term: String, isWide: Bool = false, _ html: inout HTMLWriter, _ value: (inout HTMLWriter) -> Void
    ) {
        html.element(.div, .class(isWide ? "wide" : "short")) { html in
            html.element(.dt, text: term)
            html.element(.dd, content: value)
        }
    }
}
