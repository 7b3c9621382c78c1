import ConfigParameters
import RemoteSettingsModel
import SnapshotBundle

/// The page with the parameters of a remote config: their conditions, and their values in order of priority.
///
/// To see the values for one device, run `rsdump values --explain`.
struct ParametersPage {
    /// The maximum number of values listed.
    private static let listed = 500

    private let collection: PageCatalog.Collection
    private let set: ParameterSet
    private let now: Timestamp

    /// Creates the page.
    ///
    /// - Returns: `nil` if the collection has no records, or if they are not parameters.
    init?(collection: PageCatalog.Collection, now: Timestamp) throws(Failure) {
        guard let set = try? ParameterSet(collection.bundle.payload().records), !set.records.isEmpty else { return nil }
        self.collection = collection
        self.set = set
        self.now = now
    }

    /// Returns whether a collection's records are parameters, so that it has this page.
    static func isOffered(for records: RecordTable) -> Bool {
        // Parse the first record first. In most collections it is not a parameter, which avoids parsing the others.
        guard let first = records.first, (try? ParameterRecord(first)) != nil else { return false }
        return (try? ParameterSet(records)) != nil
    }

    private var id: CollectionID { collection.id }

    func html() -> HTMLWriter {
        let trail = [("\(id)", PageLink.collection(id)), ("Parameters", .parameters(id))]
        let keys = set.keys.sorted().map(\.string)
        let values = keys.lazy.flatMap { key in set.candidates(for: key) }.prefix(Self.listed)
        let count = Wording.count(keys.count, "parameter")
        let isCut = set.records.count > Self.listed
        return Frame.document(title: "Parameters – \(id)", trail: trail) { html in
            html.element(.h1, text: "Parameters")
            html.element(.p, .class("lead")) { html in
                html.text("The values in ")
                html.element(.a, .href(.collection(id)), text: "\(id)")
                html.text(", in order of priority. A device gets the first value whose condition it matches.")
            }
            html.table(
                "records", caption: isCut ? "\(count); this page shows the first \(Self.listed)" : count,
                columns: ["Parameter", "Value", "Record"], rows: values, write: row)
        }
    }

    private func row(_ parameter: ParameterRecord, _ html: inout HTMLWriter) {
        html.element(.th, .role("rowheader"), .scope("row"), text: parameter.key)
        html.element(.td, .role("cell"), .class("wide says")) { html in
            value(parameter, &html)
            if let filter = parameter.filter {
                html.element(.div, .class("soft")) { html in
                    html.text("if ")
                    html.element(.code, .ownDirection, text: String(filter.prefix(2000)))
                }
            }
            if let ramp = parameter.ramp {
                html.element(.div, .class("soft"), text: "A ramp: \(ramp); now \(Ramp.percent(ramp.share(at: now)))")
            }
        }
        html.element(.td, .role("cell"), .cellLabel("Record")) { html in
            html.element(.a, .href(.record(id, parameter.id)), text: parameter.id)
        }
    }

    private func value(_ parameter: ParameterRecord, _ html: inout HTMLWriter) {
        switch parameter.content {
        case .value(let json):
            let text = json.text
            let shown = text.unicodeScalars.count > 300 ? "\(text.unicodeScalars.prefix(300))…" : text
            html.element(.code, .ownDirection, text: shown)
        case .inAppDefault: html.text("the app’s own default")
        }
    }
}
