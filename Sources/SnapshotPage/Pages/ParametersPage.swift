import ConfigParameters
import RemoteSettingsModel
import SnapshotBundle
import TargetFilter

/// A remote config's parameters for a device that the reader describes: which value wins, and why others do not.
struct ParametersPage {
    /// The most keys that are listed if none is chosen.
    private static let listed = 500

    private let collection: PageCatalog.Collection
    private let set: ParameterSet
    private let device: DescribedDevice
    private let installations = InstallationFinder()
    private let filters: PageFilters

    /// - Returns: `nil` if the collection has no records, or records that are not parameters.
    init?(collection: PageCatalog.Collection, query: String, limits: ServerLimits) throws(BundleError) {
        guard let set = try? ParameterSet(collection.bundle.payload().records), !set.records.isEmpty else { return nil }
        self.collection = collection
        self.set = set
        filters = PageFilters(steps: limits.pageSteps)
        device = DescribedDevice(query: query)
    }

    /// Whether a collection has such a page.
    static func isOffered(for records: RecordTable) -> Bool {
        // The first record tells cheaply whether the others are worth reading.
        guard let first = records.first, (try? ParameterRecord(first)) != nil else { return false }
        return (try? ParameterSet(records)) != nil
    }

    private var id: CollectionID { collection.id }

    func html() -> HTMLWriter {
        let trail = [("\(id)", PageLink.collection(id)), ("Parameters", .parameters(id, device))]
        return Frame.document(title: "Parameters – \(id)", trail: trail) { html in
            html.element(.h1, text: "Parameters")
            html.element(.p, .class("lead")) { html in
                html.text("What a device gets from ")
                html.element(.a, .href(.collection(id)), text: "\(id)")
            }
            form(&html)
            for problem in device.problems { html.element(.p, .role("alert"), text: problem) }
            if device.key.isEmpty {
                overview(&html)
            } else if set.contains(device.key) {
                explanation(&html)
            } else {
                html.element(.p, text: "There is no parameter “\(device.key)”.")
            }
        }
    }

    private func form(_ html: inout HTMLWriter) {
        html.element(.form, .class("search"), .get, .action(.parameters(id, DescribedDevice(query: "")))) { html in
            field("key", "Parameter; empty for all", device.key, &html)
            field("country", "Country, such as NO", device.country, &html)
            field("version", "App version, such as 2.1", device.version, &html)
            field("locale", "Locale, such as de-AT", device.locale, &html)
            field("channel", "Channel, such as beta", device.channel, &html)
            field("os", "System, such as iOS", device.os, &html)
            field("percent", "Percent bucket, from 0 to 100", device.percent, &html)
            field("installation", "Or the installation's id (env.id)", device.installation, &html)
            field("signals", "Signals, such as plan=gold, level=5", device.signals, &html)
            html.element(.button, .type("submit"), text: "Explain")
        }
    }

    private func field(
        _ name: StaticString, _ label: String, _ value: String, _ html: inout HTMLWriter
    ) {
        html.element(.div, .class("field")) { html in
            html.element(.label, .for(name), text: label)
            html.void(.input, .id(name), .type("text"), .name(name), .value(value))
        }
    }

    private func overview(_ html: inout HTMLWriter) {
        let keys = set.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        html.element(.h2, .id("values"), text: "Values")
        let count = Wording.count(keys.count, "parameter")
        html.table(
            "records", caption: keys.count > Self.listed ? "\(count), here the first \(Self.listed)" : count,
            columns: ["Parameter", "Value", "From"], rows: keys.prefix(Self.listed)
        ) { key, html in
            let standIn = installation(for: key).id
            let decided = filters.decide(for: standIn, device) { filter in
                Decided(winner: set.winner(for: key, &filter))
            }
            html.element(.th, .role("rowheader"), .scope("row")) { html in
                html.element(.a, .href(.parameters(id, device.asking(for: key))), text: key)
            }
            html.element(.td, .role("cell"), .class("wide says")) { html in
                if let decided {
                    value(decided.winner, &html)
                } else {
                    html.text("not worked out here, as the filters above took all that a page may; follow the link")
                }
            }
            html.element(.td, .role("cell"), .cellLabel("From")) { html in
                if let winner = decided?.winner { html.element(.a, .href(.record(id, winner.id)), text: winner.id) }
            }
        }
    }

    private func explanation(_ html: inout HTMLWriter) {
        let (standIn, note) = installation(for: device.key)
        guard let explanation = filters.decide(for: standIn, device, { set.explanation(of: device.key, &$0) }) else {
            return html.element(
                .p, .role("alert"),
                text:
                    "The filters of “\(device.key)” take more than a page may; rsdump config get --explain shows them.")
        }
        html.element(.h2, .id("values")) { html in
            html.text(device.key)
            html.text(": ")
            value(explanation.winner, &html)
        }
        if let note { html.element(.p, .class("soft"), text: note) }
        html.table(
            "records", caption: "The values in the order in which they are asked", columns: ["Record", "Value", "Why"],
            rows: explanation.candidates, write: row)
        html.element(.p) { html in
            html.element(.a, .href(.parameters(id, device.asking(for: ""))), text: "All parameters")
        }
    }

    private func row(_ candidate: ParameterExplanation.Candidate, _ html: inout HTMLWriter) {
        html.element(.th, .role("rowheader"), .scope("row")) { html in
            html.element(.a, .href(.record(id, candidate.parameter.id)), text: candidate.parameter.id)
        }
        html.element(.td, .role("cell"), .class("wide says")) { html in
            value(candidate.parameter, &html)
            if let filter = candidate.parameter.filter {
                html.element(.div, .class("soft")) { html in
                    html.text("if ")
                    html.element(.code, .ownDirection, text: String(filter.prefix(2000)))
                }
            }
            if let ramp = candidate.ramp {
                html.element(
                    .div, .class("soft"), text: "A ramp: \(ramp.plan); now \(Ramp.percent(ramp.share))")
            }
        }
        html.element(.td, .role("cell"), .cellLabel("Why"), text: Self.reason(candidate))
    }

    private static func reason(_ candidate: ParameterExplanation.Candidate) -> String {
        switch candidate.verdict {
        case .wins: candidate.parameter.hasFilter ? "Wins: its filter is true." : "Wins: it has no filter."
        case .outranked(let winner): "Comes after \(winner)."
        case .excluded(let outcome): "\(outcome)"
        }
    }

    private func value(_ parameter: ParameterRecord?, _ html: inout HTMLWriter) {
        switch parameter?.content {
        case .value(let json)?:
            let text = json.text
            let shown = text.unicodeScalars.count > 300 ? "\(text.unicodeScalars.prefix(300))…" : text
            html.element(.code, .ownDirection, text: shown)
        case .inAppDefault?: html.text("the app’s own default, as this record says")
        case nil: html.text("the app’s own default, as no record applies")
        }
    }

    /// The id that stands for the device in the filters of one parameter; `nil` to use the form's, if there is one.
    ///
    /// The form's percentage applies to each seed that the filters name. So the installation must be in that bucket for
    /// all of these seeds.
    private func installation(for key: String) -> (id: String?, note: String?) {
        guard device.installation.isEmpty, let percent = device.bucket else { return (nil, nil) }
        let seeds = Set(set.candidates(for: key).flatMap { Self.seeds(of: $0.filter ?? "") }).sorted()
        guard !seeds.isEmpty else { return (nil, nil) }
        if let id = installations.installation(within: percent, ofSeeds: seeds) { return (id, nil) }
        return (
            nil,
            "No installation was found that is in this bucket of \(seeds.count) seeds at once; give an installation’s id."
        )
    }

    /// The seeds in `[env.id, 'seed']|bucketSample(…)`, as text of the filter language.
    private static func seeds(of filter: String) -> [String] {
        filter.split(separator: "[env.id, ", omittingEmptySubsequences: false).dropFirst().compactMap { part in
            part.firstRange(of: "]|bucketSample(").map { String(part[..<$0.lowerBound]) }
        }
    }
}

/// A device as the page's form describes it. An empty field means that nothing is known.
struct DescribedDevice: Equatable {
    private static let textBytes = 300

    private(set) var key: String
    private(set) var country: String
    private(set) var version: String
    private(set) var locale: String
    private(set) var channel: String
    private(set) var os: String
    private(set) var percent: String
    private(set) var installation: String
    private(set) var signals: String

    init(query: String) {
        func text(_ name: String) -> String {
            let text = FormText.parameter(name, of: query) ?? ""
            return String(decoding: text.utf8.prefix(Self.textBytes), as: UTF8.self)
        }
        key = String(decoding: (FormText.parameter("key", of: query) ?? "").utf8.prefix(1024), as: UTF8.self)
        (country, version, locale, channel) = (text("country"), text("version"), text("locale"), text("channel"))
        (os, percent, installation, signals) = (text("os"), text("percent"), text("installation"), text("signals"))
    }

    func asking(for key: String) -> DescribedDevice {
        var other = self
        other.key = key
        return other
    }

    /// The percentage, at least 0. An input of 100 means the end of the last bucket.
    var bucket: Double? {
        guard let number = Double(percent), number >= 0, number <= 100 else { return nil }
        return min(number, 99.9999)
    }

    var problems: [String] {
        percent.isEmpty || bucket != nil ? [] : ["The percent bucket is no number from 0 to 100."]
    }

    var parts: [(name: StaticString, value: String)] {
        [
            ("key", key), ("country", country), ("version", version), ("locale", locale), ("channel", channel),
            ("os", os), ("percent", percent), ("installation", installation), ("signals", signals),
        ].filter { !$0.1.isEmpty }
    }

    func context(id: String?) -> FilterContext {
        var custom: [String: FilterValue] = [:]
        for part in signals.split(separator: ",") {
            let pair = part.split(separator: "=", maxSplits: 1)
            guard pair.count == 2 else { continue }
            custom[Self.trimmed(pair[0])] = Self.value(Self.trimmed(pair[1]))
        }
        if let id = id ?? (installation.isEmpty ? nil : installation) { custom["id"] = .string(id) }
        func known(_ text: String) -> String? { text.isEmpty ? nil : text }
        return .app(
            channel: known(channel), version: known(version), locale: known(locale), country: known(country),
            os: known(os), custom: custom)
    }

    private static func trimmed(_ text: Substring) -> String {
        var text = text.drop { $0 == " " }
        while text.last == " " { text.removeLast() }
        return String(text)
    }

    private static func value(_ text: String) -> FilterValue {
        switch text {
        case "true": true
        case "false": false
        default: Double(text).flatMap { $0.isFinite ? .number($0) : nil } ?? .string(text)
        }
    }
}

/// The record that decides a parameter; none if the app's own default does.
private struct Decided {
    let winner: ParameterRecord?
}

/// Evaluates filters for one page: each filter once for each installation, within the steps that a page may take.
private final class PageFilters {
    private var filters: [String?: RecordFilter] = [:]
    private var stepsLeft: Int

    init(steps: Int) {
        stepsLeft = steps
    }

    /// - Parameter id: the installation that stands for the device; `nil` for the form's.
    /// - Returns: `nil` if it takes more steps than are left.
    func decide<Result>(
        for id: String?, _ device: DescribedDevice, _ body: (inout RecordFilter) -> Result
    ) -> Result? {
        var filter = filters.removeValue(forKey: id) ?? RecordFilter(context: device.context(id: id))
        filter.stepsLeft = stepsLeft
        let result = body(&filter)
        stepsLeft = filter.stepsLeft
        filters[id] = filter
        return stepsLeft > 0 ? result : nil
    }
}

/// Finds installation ids that are in given buckets, for one page.
private final class InstallationFinder {
    /// The tries left for the whole page. One seed takes a hundred on average, and two take ten thousand.
    private var triesLeft = 100_000
    private var found: [[String]: String?] = [:]

    /// - Parameters:
    ///   - percent: at least 0 and less than 100. The id's bucket is the one of 100 that contains it.
    ///   - seeds: literals of the filter language.
    /// - Returns: `nil` if no id was found.
    func installation(within percent: Double, ofSeeds seeds: [String]) -> String? {
        if let known = found[seeds] { return known }
        let id = search(percent, seeds)
        found[seeds] = .some(id)
        return id
    }

    private func search(_ percent: Double, _ seeds: [String]) -> String? {
        guard seeds.count <= 2 else { return nil }
        let inputs = seeds.compactMap { seed -> [FilterValue]? in
            guard case .array(let values)? = try? FilterExpression(parsing: "[\(seed)]").evaluate(in: .app()) else {
                return nil
            }
            return values
        }
        guard inputs.count == seeds.count else { return nil }
        let bucket = Int(percent.rounded(.down))
        for number in 0..<50_000 where triesLeft > 0 {
            triesLeft -= 1
            let id = FilterValue.string("installation-\(number)")
            if inputs.allSatisfy({ FilterValue.array([id] + $0).isSampled(inBucket: bucket, of: 100) }) {
                return "installation-\(number)"
            }
        }
        return nil
    }
}
