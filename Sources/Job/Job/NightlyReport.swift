import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// What a nightly run did, for the job's summary and the text of the request. All text from outside is in code spans.
package struct NightlyReport: Sendable {
    /// Something that keeps the dumps from landing.
    typealias Unverified = (name: String, cause: String)

    /// The dumps directory, from the top of the repository.
    let dumps: String
    package private(set) var problems: [JobProblem] = []
    /// The warnings, such as failed collections, that a CI service shows in addition to the problems.
    package internal(set) var warnings: [String] = []
    package internal(set) var landed: [String] = []
    var refreshed: RefreshReport?
    /// When the last refresh ended; `nil` if none was begun.
    var refreshedAt: Timestamp?
    var unverified: [Unverified] = []
    /// The records that the Swift types of the base cannot decode.
    var typeBreaks: [String] = []
    /// What this run has changed in the dumps; `nil` if nothing.
    var changes: DiffReport?
    var failing = Failing()
    /// Whether the run ended before its last step.
    var brokeOff = false
    /// Whether the base already has everything.
    var isLanded = false
    /// The requests of the branch, newest first; `nil` if nobody has asked for them.
    var requests: [ReviewRequest]?

    init(dumps: String) {
        self.dumps = dumps
    }

    /// The exit code: that of the worst problem.
    package var code: ExitStatus { problems.map(\.code).max { $0.severity < $1.severity } ?? .done }

    /// Adds a problem.
    ///
    /// - Returns: whether it is new. A second refresh in the same run may fail for the same cause.
    mutating func add(_ problem: JobProblem) -> Bool {
        guard !problems.contains(where: { $0.text == problem.text }) else { return false }
        problems.append(problem)
        return true
    }

    /// The message of the commit.
    static func message(_ changes: DiffReport) -> String {
        let total = DiffWords.total(changes)
        let title = changes.changed.isEmpty ? "no change in the data" : total.prefix { $0 != ":" }
        var lines = ["Remote Settings dumps: \(title)", ""]
        DiffText(changes, showsRecords: false).forEachLine { lines.append($0) }
        return lines.joined(separator: "\n") + "\n"
    }

    /// The summary of the whole run.
    package var summary: String {
        var parts = types + [night("Remote Settings dumps")]
        let landed = landed.isEmpty && code == .done ? ["Nothing has changed."] : landed
        if !landed.isEmpty { parts.append(landed.joined(separator: " ")) }
        if let changes { parts.append("### Changes in this run\n\n" + Self.withoutTitle(DiffMarkdown(changes).text)) }
        return parts.joined(separator: "\n\n") + "\n"
    }

    /// A Markdown text without its first line, which names the sides as the program was told them.
    private static func withoutTitle(_ text: String) -> String {
        text.lines.dropFirst().joined(separator: "\n").trimmingLines
    }

    /// Problems first, then what the refresh did.
    private func night(_ title: String) -> String {
        var lines = ["## \(title)"]
        for problem in problems {
            lines += ["", "**\(problem.code == .backoff ? "Warning" : "Error"):** \(problem.text)"]
        }
        if !unverified.isEmpty {
            lines.append("")
            lines += unverified.map { "- \(MarkdownText.code($0.name)) failed: \(MarkdownText.prose($0.cause))" }
        }
        if let refreshed, let refreshedAt {
            let superseded = failing.superseded.map { ($0.key.collection, $0.value) }
            let text = RefreshMarkdown(
                refreshed, now: refreshedAt, failingSince: failing.collections,
                supersededSince: Dictionary(superseded) { min($0, $1) }
            ).text
            lines += ["", Self.withoutTitle(text)]
        } else if let time = refreshedAt?.rfc3339 {
            let minute = "\(time.prefix(10)) \(time.dropFirst(11).prefix(5)) UTC"
            lines += ["", "The refresh of \(minute) did not finish."]
        }
        let shown = Set((refreshed?.outcomes ?? []).filter { [.failed, .acknowledged].contains($0.status) }.map(\.id))
        let others = failing.collections.filter { !shown.contains($0.key) }.sorted { $0.key < $1.key }
        if !others.isEmpty || failing.refresh != nil { lines.append("") }
        lines += others.map {
            "- \(MarkdownText.code("\($0.key)")) failed before, and was not tried again; failing since \($0.value)"
        }
        if let since = failing.refresh { lines.append("- `refresh` could not start; failing since \(since)") }
        return lines.joined(separator: "\n")
    }

    private var types: [String] {
        guard !typeBreaks.isEmpty else { return [] }
        let list = Self.bounded(typeBreaks.map { "- \($0)" }, 4000) { "- … and \($0) more" }
        return [
            "## Type breaks: change the app before you merge\n\nThe generated types of the base cannot decode these new "
                + "records. This pull request may contain new types; update the code that uses these fields:\n\n"
                + list
        ]
    }

    /// Joins as many lines as fit, and ends with one that says how many do not.
    private static func bounded(_ lines: [String], _ limit: Int, rest: (Int) -> String) -> String {
        var page = BoundedText(limit: limit)
        for (position, line) in lines.enumerated() {
            guard page.append("\(line)\n", reserving: 100) else {
                page.appendLast(rest(lines.count - position))
                break
            }
        }
        return page.text.trimmingLines
    }

    // MARK: The request

    /// The longest text of one night in bytes. GitHub takes 65,536 characters in all; the comparison is limited too.
    private static let nightBytes = 12_000

    /// The text of the request.
    ///
    /// - Parameters:
    ///   - all: all changes against the base.
    ///   - made: the files that `--before-commit` has made differently.
    func body(
        _ all: DiffReport, made: [(word: String, path: String)], remote: String, base: String, branch: String,
        notes: RequestNotes
    ) -> String {
        let night = Self.bounded(night("This night").lines, Self.nightBytes) { _ in
            "(The rest is in the job log.)"
        }
        var parts = [
            "A nightly job keeps this pull request up to date until it is merged or closed. Merging it updates the data; "
                + "collections that failed keep their current bundles."
        ]
        parts += types + [night, "## All changes against the branch \(MarkdownText.code(base))"]
        parts.append(
            refreshed != nil && !brokeOff
                ? "Except for failed and pinned collections, everything was up to date with the server this night."
                : "These changes are from earlier nights, because this night did not finish.")
        parts.append(Self.withoutTitle(DiffMarkdown(all).text))
        if !made.isEmpty {
            let lines = made.map { "- \($0.word) \(MarkdownText.code($0.path))" }
            let list = Self.bounded(lines, 2000) { "- … and \($0) more" }
            parts.append("### Files generated from the dumps\n\n\(list)")
        }
        parts.append("## Check it yourself\n\n```sh\n" + commands(remote, base, branch) + "\n```")
        return parts.joined(separator: "\n\n") + "\n\n\(notes.comment)\n"
    }

    /// Commands with which a reader can check the request.
    private func commands(_ remote: String, _ base: String, _ branch: String) -> String {
        let (q, place) = (ShellWord.quoted, ShellWord.quoted(dumps))
        var lines = [
            "git fetch \(q(remote)) \(q(base)) \(q(branch)) && git checkout \(q(branch))",
            "rsdump verify --locked --dumps \(place)    # every signature and hash",
            "rsdump diff \(q("git:\(remote)/\(base)")) \(place) --dumps \(place)    # all changes, in full",
        ]
        if let name = failing.collections.keys.sorted().first {
            lines.append("rsdump refresh \(q("\(name)")) --dumps \(place)    # one collection again")
        }
        return lines.joined(separator: "\n")
    }
}

/// Since when collections fail and pins are superseded.
package struct Failing: Hashable, Sendable {
    /// What a collection is pinned at. Another pin begins anew.
    struct Pinned: Hashable, Sendable {
        let collection: CollectionID
        let at: Timestamp

        var text: String { "\(collection)@\(at)" }

        init(_ collection: CollectionID, at: Timestamp) {
            (self.collection, self.at) = (collection, at)
        }

        init?(_ text: String) {
            let parts = text.split(separator: "@")
            guard parts.count == 2, let id = try? CollectionID(String(parts[0])), let at = Timestamp(parts[1]) else {
                return nil
            }
            self.init(id, at: at)
        }
    }

    /// The first day of each collection, such as `2026-11-28`.
    var collections: [CollectionID: String] = [:]
    /// The first day on which the server's state was newer than the one of a pin.
    var superseded: [Pinned: String] = [:]
    /// The first day on which the refresh failed as a whole; `nil` if it did not.
    var refresh: String?

    init() {}

    /// Reads what the last run in this clone has stored. Does I/O.
    init(at state: String) throws {
        let text = try FileStore.read("\(state)/failing.json", limit: 1 << 20)
        self.init(text.flatMap { try? JSONValue(parsing: $0) } ?? .null)
    }

    init(_ json: JSONValue) {
        guard case .object(let members) = json else { return }
        for member in members {
            guard let day = member.value.string, Pin.date(day) != nil else { continue }
            if member.key == "refresh" {
                refresh = day
            } else if let id = try? CollectionID(member.key) {
                collections[id] = day
            } else if let pinned = Pinned(member.key) {
                superseded[pinned] = day
            }
        }
    }

    var json: JSONValue {
        var days = collections.map { ("\($0.key)", $0.value) } + superseded.map { ($0.key.text, $0.value) }
        if let refresh { days.append(("refresh", refresh)) }
        return .object(days.sorted { $0.0 < $1.0 }.map { JSONValue.Member(key: $0.0, value: .string($0.1)) })
    }

    func write(at state: String) throws {
        try FileStore.replace("\(state)/failing.json", with: Bytes(JSONText.compact(json)))
    }

    /// Returns the days after a run.
    ///
    /// - Parameter body: the text of the request, which has those of earlier runs in other clones.
    func updated(by report: NightlyReport, _ body: String?, today: String) -> Failing {
        guard report.refreshedAt != nil else { return self }
        let earlier = body.map { RequestNotes(in: $0).failing } ?? Failing()
        func first(_ days: String?...) -> String {
            (days.compactMap(\.self).filter { $0 <= today } + [today]).min() ?? today
        }
        var next = Failing()
        guard let refreshed = report.refreshed else {
            // A refresh that failed as a whole says nothing of its collections.
            next.collections = collections.merging(earlier.collections) { min($0, $1) }
            next.superseded = superseded.merging(earlier.superseded) { min($0, $1) }
            next.refresh = first(refresh, earlier.refresh)
            return next
        }
        for outcome in refreshed.outcomes where [.failed, .acknowledged].contains(outcome.status) {
            next.collections[outcome.id] = first(collections[outcome.id], earlier.collections[outcome.id])
        }
        for outcome in refreshed.outcomes {
            guard let pin = outcome.pin, pin.isSuperseded else { continue }
            let pinned = Pinned(outcome.id, at: pin.pin.at)
            next.superseded[pinned] = first(superseded[pinned], earlier.superseded[pinned])
        }
        return next
    }
}

/// What the job needs to know of a request later, in a comment at the end of its text that nobody sees.
package struct RequestNotes: Hashable, Sendable {
    /// A hash of what the request contains.
    let content: String?
    let failing: Failing

    private static let mark = "<!-- rsdump nightly "

    init(content: String?, failing: Failing) {
        (self.content, self.failing) = (content, failing)
    }

    /// Finds the notes in a text, which people may have edited.
    init(in body: String) {
        let text = body.ranges(of: Self.mark).last.map { body[$0.upperBound...] } ?? ""
        let json = text.firstRange(of: " -->").flatMap {
            try? JSONValue(parsing: Bytes(utf8: String(text[..<$0.lowerBound])))
        }
        content = json?["content"]?.string
        failing = Failing(json?["failing"] ?? .null)
    }

    /// Returns a text without the last notes in it.
    static func removed(from body: String) -> String {
        guard let start = body.ranges(of: mark).last?.lowerBound else { return body }
        let end = body[start...].firstRange(of: " -->")?.upperBound ?? body.endIndex
        return String(body[..<start] + body[end...])
    }

    var comment: String {
        let json = JSONValue.members(["content": content.map(JSONValue.string), "failing": failing.json])
        return Self.mark + String(decoding: JSONText.compact(json), as: UTF8.self) + " -->"
    }
}

extension String {
    fileprivate var lines: [String] { split(separator: "\n", omittingEmptySubsequences: false).map(String.init) }

    /// The text without line feeds at its ends.
    fileprivate var trimmingLines: String {
        var text = self[...]
        while text.first == "\n" { text.removeFirst() }
        while text.last == "\n" { text.removeLast() }
        return String(text)
    }
}
