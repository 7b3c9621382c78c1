import ArgumentParser
import Dumps
import Publish
import RemoteSettingsHTTP
import RemoteSettingsModel

/// `rsdump diff`
struct DiffCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Compare two states of dumps by records, fields and attachments.",
        usage: "rsdump diff <old> [<new>] [<collections> ...] [<options>]",
        discussion: """
            Each side is a directory, a bundle, git:REV, git:REV:PATH, the word server, or sources:DIR.
              rsdump diff git:HEAD                    changes that are not committed yet
              rsdump diff dumps server main/markets   changes that a refresh would bring
              rsdump diff dumps sources:sources       changes that publish would make
            For details, see Diff.md in share/doc/rsdump.
            """)

    @Argument(help: ArgumentHelp("The older side.", valueName: "old"))
    var old: DiffSide.Place

    @Argument(help: ArgumentHelp("The newer side; the dumps directory by default.", valueName: "new"))
    var newer: DiffSide.Place?

    @OptionGroup var collections: CollectionNames

    @OptionGroup var dumps: DumpsOptions
    @OptionGroup var server: ServerOptions

    @OptionGroup var result: FormatOption<Format>

    @Flag(help: "With --format text: print only the counts of each collection.")
    var stat = false

    @Flag(help: "Exit with 1 if the sides differ.")
    var exitCode = false

    enum Format: String, ResultFormat {
        case text
        case json
        case markdown

        /// Prints a comparison to standard output.
        func print(_ report: DiffReport, showsRecords: Bool, paint: @escaping (String, DiffText.Role) -> String) {
            switch self {
            case .text:
                Console.buffered { write in
                    DiffText(report, showsRecords: showsRecords, paint: paint).forEachLine { line in
                        write(Array("\(line)\n".utf8))
                    }
                }
            case .json: Console.buffered { write in DiffJSON.write(report, to: write) }
            case .markdown: Console.write(Array(DiffMarkdown(report).text.utf8), to: 1)
            }
        }
    }

    func validate() throws {
        if stat, result.format != .text {
            throw ValidationError("--stat requires --format text; the other formats always include the counts")
        }
        if server.isGiven, ![old, newer].contains(.server) {
            throw ValidationError(
                "--server and --trust-root apply only if one of the sides is the word server, for example: rsdump diff "
                    + "dumps server")
        }
    }

    func run() async throws {
        let report: DiffReport
        let new = newer ?? .path(dumps.directory.path)
        var failed: [CollectionID: CommandFailure] = [:]
        do {
            let (before, after) = (try await open(old, failed: &failed), try await open(new, failed: &failed))
            var names = collections.names
            if names.isEmpty {
                // Compare only the collections that have sources.
                if case .sources = new {
                    names = after.collections.sorted()
                } else if case .sources = old {
                    names = before.collections.sorted()
                }
            }
            if !failed.isEmpty {
                let all = names.isEmpty ? before.collections.union(after.collections).sorted() : names
                names = all.filter { failed[$0] == nil }
                if names.isEmpty, let failure = failed.min(by: { $0.key < $1.key })?.value { throw failure }
            }
            report = try await DiffReport(from: (old, before), to: (new, after), names: names)
        } catch {
            throw CommandFailure(comparing: error)
        }
        result.format.print(report, showsRecords: !stat, paint: Style.output.paint)
        let failures = failed.sorted { $0.key < $1.key }.map(\.value)
        if let last = failures.last {
            for failure in failures.dropLast() { Console.error(failure) }
            throw last
        }
        if exitCode, !report.isSame { throw ExitStatus.someFailed.code }
    }

    private func open(_ place: DiffSide.Place, failed: inout [CollectionID: CommandFailure]) async throws -> DiffSide {
        let side: DiffSide
        switch place {
        case .path(let path): side = try DiffSide(path: path)
        case .git(let revision, let path):
            side = try await DiffSide(revision: revision, path: path ?? dumps.directory.path)
        case .server: side = DiffSide(server: try await askServer(failed: &failed))
        case .sources(let path):
            let sources = try SourceDirectory(path.withoutTrailingSlashes).readWithWarnings(collections.names)
            side = DiffSide(
                states: try Publisher.preview(sources, in: dumps.directory, at: HTTPEnvironment.system.now()))
        }
        for note in side.notes { Console.error("note: \(note)") }
        return side
    }

    /// Fetches the server's state of the collections.
    ///
    /// - Parameter failed: receives each collection whose state could not be fetched, and the reason.
    private func askServer(failed: inout [CollectionID: CommandFailure]) async throws -> [CollectionID: Snapshot] {
        let opened = try OpenDumps(dumps, applying: server.applied)
        let outcomes = try await opened.withServer(jobs: 8) { client in
            try await Survey(
                opened.directory, configuration: opened.configuration, policy: opened.policy,
                now: HTTPEnvironment.system.now()
            ).serverStates(collections.names, client: client, jobs: 8)
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
    /// Creates a failure from an error during a comparison. Its exit code is never 1, because 1 means that the sides
    /// differ.
    ///
    /// - Parameter id: the collection whose state could not be fetched; `nil` for the run as a whole.
    fileprivate init(comparing error: any Error, of id: CollectionID? = nil) {
        let failure = CommandFailure(error)
        let status: ExitStatus =
            switch (failure.status, (error as? Failure)?.code) {
            // A usage error about one collection is caused by the server's data, not by the command line.
            case (.usage, _) where id != nil: .verificationFailed
            case (.someFailed, .program), (.someFailed, .refused), (.someFailed, nil): .usage
            case (.someFailed, _): .verificationFailed
            default: failure.status
            }
        self.init(status, id.map { "\($0): \(failure)" } ?? "\(failure)")
    }
}

extension DiffSide.Place: ExpressibleByArgument {
    package init?(argument: String) { self.init(argument) }
}

extension Style {
    /// Formats text in the colors that `git diff` uses.
    func paint(_ text: String, _ role: DiffText.Role) -> String {
        switch role {
        case .created: green(text)
        case .updated: yellow(text)
        case .deleted: red(text)
        case .dim: dim(text)
        }
    }
}
