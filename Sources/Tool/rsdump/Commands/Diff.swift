import ArgumentParser
import Dumps
import Publish
import RemoteSettingsHTTP
import RemoteSettingsModel

/// `rsdump diff`
struct Diff: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Compare two states of dumps by records, fields and attachments.",
        discussion: """
            Each of OLD and NEW is one of
              PATH           a bundle (.zip), or a directory of dumps
              git:REV        the dumps directory (--dumps) at a commit or branch
              git:REV:PATH   another directory, or a bundle, at a commit
              server         the server's current state of the collections in
                             dumps.yaml, fetched and verified; writes nothing
              sources:DIR    what rsdump publish would make of these sources and
                             the dumps directory (--dumps); needs no keys

            If only OLD is given, NEW is the dumps directory. If both sides have a dumps.yaml, its settings are \
            compared too.

            Examples:
              rsdump diff git:HEAD                     what is not committed yet
              rsdump diff git:HEAD dumps --stat        how much that is
              rsdump diff dumps server main/regions    what a refresh would change
              rsdump diff old.zip new.zip --format json
              rsdump diff dumps sources:sources        what publish would change
              rsdump diff git:v1 git:v2 --format markdown

            Long names and values are cut. Of a record, at most 1,000 changed fields are shown, and a report ends after \
            64 MiB; the rest is counted ("omitted" and "cut" in JSON). Markdown is meant for the body of a pull request. \
            It is shorter, and the largest changes come first. Text is coloured on a terminal unless NO_COLOR is set.

            Bundles are compared, but not verified. To verify them, use rsdump verify.

            Exits with 0 if both sides could be compared; with --exit-code, exits with 1 if they differ. Errors have \
            other codes: 2 for arguments, files and git; 3 if a bundle or the server's answer cannot be trusted; 4 if \
            the server asked to wait; 5 if it cannot be reached.

            If the server fails for some collections, the others are compared and printed, and the exit code is that \
            of the failure.
            """)

    @Argument(help: ArgumentHelp("The older side.", valueName: "old"))
    var old: DiffSide.Place

    @Argument(help: ArgumentHelp("The newer side; the dumps directory by default.", valueName: "new"))
    var newer: DiffSide.Place?

    @OptionGroup var collections: CollectionNames

    @OptionGroup var dumps: DumpsOptions
    @OptionGroup var server: ServerOptions

    @OptionGroup var result: FormatOption<Format>

    @Flag(help: "With --format text: print only the counts of changed records and attachments of each collection.")
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
            throw ValidationError("--stat requires --format text; the other formats have the counts anyway")
        }
        if server.isGiven, ![old, newer].contains(.server) {
            throw ValidationError("--server and --trust-root require that one side is server")
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
                // Only the collections that the sources have are compared.
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

    private func open(
        _ place: DiffSide.Place, failed: inout [CollectionID: CommandFailure]
    ) async throws -> DiffSide {
        let side: DiffSide
        switch place {
        case .path(let path): side = try DiffSide(path: path)
        case .git(let revision, let path):
            side = try await DiffSide(revision: revision, path: path ?? dumps.directory.path)
        case .server: side = DiffSide(server: try await askServer(failed: &failed))
        case .sources(let path):
            let sources = try SourceDirectory(path.withoutTrailingSlashes).read(collections.names)
            side = DiffSide(
                states: try Publisher.preview(sources, in: dumps.directory, at: HTTPEnvironment.system.now()).states)
        }
        for note in side.notes { Console.error("note: \(note)") }
        return side
    }

    /// - Parameter failed: filled with each collection whose state could not be fetched, and the reason.
    private func askServer(
        failed: inout [CollectionID: CommandFailure]
    ) async throws -> [CollectionID: Snapshot] {
        let opened = try OpenDumps(dumps, applying: server.applied)
        let outcomes = try await opened.withServer(jobs: 8) { client in
            try await ServerState(
                opened.directory, configuration: opened.configuration, client: client, policy: opened.policy, jobs: 8,
                now: HTTPEnvironment.system.now()
            ).outcomes(collections.names)
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
    /// An error while comparing. Its exit code is never 1, because 1 means that the sides differ.
    ///
    /// - Parameter id: the collection whose state could not be fetched; `nil` for the run as a whole.
    fileprivate init(comparing error: any Error, of id: CollectionID? = nil) {
        let failure = CommandFailure(error)
        let status: ExitStatus =
            switch (failure.status, error.failureCode) {
            // What the server sent cannot be trusted.
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
    /// The colours that `git diff` uses.
    func paint(_ text: String, _ role: DiffText.Role) -> String {
        switch role {
        case .created: green(text)
        case .updated: yellow(text)
        case .deleted: red(text)
        case .dim: dim(text)
        }
    }
}
