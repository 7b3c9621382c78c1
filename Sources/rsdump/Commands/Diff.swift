import ArgumentParser
import Dumps
import DumpsRefresh
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotDiff

/// `rsdump diff`
struct Diff: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Compare two states of dumps: records, fields and attachments.",
        discussion: """
            Each of OLD and NEW is one of
              PATH           a bundle (.zip), or a directory of dumps
              git:REV        the dumps directory (--dumps) as of a commit or branch
              git:REV:PATH   another directory, or a bundle, as of a commit
              server         what the server has now of dumps.yaml's collections,
                             fetched and verified; nothing is written

            Examples:
              rsdump diff git:HEAD dumps               what is not committed yet
              rsdump diff git:HEAD dumps --stat        how much that is
              rsdump diff dumps server main/regions    what a refresh would change
              rsdump diff old.zip new.zip --format json
              rsdump diff git:v1 git:v2 --format markdown

            Markdown is for a pull request's body: bounded in length, the largest changes first. The text is coloured on a \
            terminal, unless NO_COLOR is set.

            Bundles are compared, not verified: rsdump verify does that.

            Exits with 0 where both could be compared; with --exit-code, with 1 where they differ. Whatever goes wrong has \
            another code: 2 for arguments, files and git, 3 where a bundle or what the server answered cannot be trusted, 4 \
            where the server asked to wait, 5 where it cannot be reached. Where the server fails for some collections, the \
            others are compared and printed all the same, and the exit code is the failure's.
            """)

    @Argument(help: ArgumentHelp("The older side.", valueName: "old"))
    var old: DiffArgument

    @Argument(help: ArgumentHelp("The newer side.", valueName: "new"))
    var new: DiffArgument

    @Argument(help: "Collections, as BUCKET/COLLECTION; all if none is given.")
    var collections: [String] = []

    @OptionGroup var dumps: DumpsOptions
    @OptionGroup var server: ServerOptions

    @Option(help: "How to print the result: text, json or markdown.")
    var format = Format.text

    @Flag(help: "Print only how many records and attachments of each collection changed; for text.")
    var stat = false

    @Flag(help: "Exit with 1 where the sides differ.")
    var exitCode = false

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case text
        case json
        case markdown
    }

    func validate() throws {
        _ = try collectionIDs(collections)
        if stat, format != .text { throw ValidationError("--stat goes with --format text; the others have the counts") }
    }

    func run() async throws {
        try await running {
            let report: DiffReport
            let failures: [CommandFailure]
            do {
                (report, failures) = try await compare()
            } catch {
                throw CommandFailure(comparing: error)
            }
            let style = Style(isColored: Console.outputIsColored)
            switch format {
            case .text: Console.print(DiffText(report, showsRecords: !stat, paint: style.paint).text)
            case .json: Console.print(json: DiffJSON.document(report))
            case .markdown: Console.write(Array(DiffMarkdown(report).text.utf8), to: 1)
            }
            if let last = failures.last {
                for failure in failures.dropLast() { Console.error("rsdump: \(Console.visible("\(failure)"))") }
                throw last
            }
            if exitCode, !report.isSame { throw ExitStatus.someFailed.code }
        }
    }

    /// - Returns: what could be compared, and why the other collections could not.
    private func compare() async throws -> (DiffReport, [CommandFailure]) {
        let names = try collectionIDs(collections)
        var failed: [CollectionID: CommandFailure] = [:]
        let before = try await open(old, names, &failed)
        let after = try await open(new, names, &failed)
        if let one = before.onlyCollection, let other = after.onlyCollection, names.isEmpty {
            // Two bundles are compared whatever they are called: a collection has a preview in another bucket.
            let diff = SnapshotDiff(from: try await before.state(of: one), to: try await after.state(of: other))
            return (DiffReport(old: old.name, new: new.name, collections: [diff].compactMap(\.self)), [])
        }
        let known = before.collections.union(after.collections).union(failed.keys)
        let unknown = names.filter { !known.contains($0) }
        guard unknown.isEmpty else {
            let list = unknown.map(\.description).joined(separator: ", ")
            throw CommandFailure(
                .usage,
                "\(list): neither \(old.name) nor \(new.name) has it; they have \(Counted.text(known.count, "other"))")
        }
        let only = [before.onlyCollection, after.onlyCollection].compactMap(\.self)
        var diffs: [SnapshotDiff] = []
        let compared = names.isEmpty ? only.isEmpty ? known.sorted() : only : names
        let failures = compared.compactMap { failed[$0] }
        if let failure = failures.first, failures.count == compared.count { throw failure }
        for id in compared where failed[id] == nil {
            let isSame = try before.isSameBundle(of: id, as: after)
            let newer = try await after.state(of: id)
            let older = isSame ? newer : try await before.state(of: id)
            if let diff = SnapshotDiff(from: older, to: newer) { diffs.append(diff) }
        }
        return (DiffReport(old: old.name, new: new.name, collections: diffs), failures)
    }

    private func open(
        _ argument: DiffArgument, _ names: [CollectionID], _ failed: inout [CollectionID: CommandFailure]
    ) async throws -> DiffSide {
        switch argument {
        case .path(let path): try DiffSide(path: path)
        case .git(let revision, let path):
            try await DiffSide(revision: revision, path: path ?? dumps.directory.path)
        case .server: DiffSide(server: try await askServer(names, &failed))
        }
    }

    private func askServer(
        _ names: [CollectionID], _ failed: inout [CollectionID: CommandFailure]
    ) async throws -> [CollectionID: Snapshot] {
        let opened = try OpenDumps(dumps, applying: server.applied)
        let outcomes = try await opened.withServer(jobs: 8) { client in
            try await ServerState(
                opened.directory, configuration: opened.configuration, client: client, policy: opened.policy, jobs: 8,
                now: HTTPEnvironment.system.now()
            ).outcomes(names)
        }
        var snapshots: [CollectionID: Snapshot] = [:]
        for (id, outcome) in outcomes.sorted(by: { $0.key < $1.key }) {
            switch outcome {
            case .snapshot(let snapshot): snapshots[id] = snapshot
            case .absent: Console.error("note: the server does not have \(id)")
            case .failed(let error): failed[id] = CommandFailure(comparing: error, of: id)
            }
        }
        return snapshots
    }
}

extension CommandFailure {
    /// What went wrong in a comparison. Its exit code is never 1, which says that the sides differ.
    fileprivate init(comparing error: any Error, of id: CollectionID? = nil) {
        let place = id.map { "\($0): " } ?? ""
        let failure = CommandFailure(error)
        guard failure.status == .someFailed else {
            self.init(failure.status, place + failure.description)
            return
        }
        let status: ExitStatus =
            switch error {
            case CollectionError.fetch(.http(let error)):
                switch error.category {
                case .backoff: .backoff
                case .unreachable: .unreachable
                default: .verificationFailed
                }
            case is CollectionError, is ChangesetError, is HTTPError, is DumpsError: .verificationFailed
            default: .usage
            }
        self.init(status, place + failure.description)
    }
}

extension Style {
    /// Colours as `git diff` has them.
    fileprivate func paint(_ text: String, _ role: DiffText.Role) -> String {
        switch role {
        case .created: green(text)
        case .updated: yellow(text)
        case .deleted: red(text)
        case .dim: dim(text)
        }
    }
}
