import ArgumentParser
import AsyncHTTPTransport
import ContentSignature
import DumpsRefresh
import RemoteSettingsHTTP
import RemoteSettingsModel

/// `rsdump refresh`
struct RefreshCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refresh",
        abstract: "Download what is new, verify it, and rewrite the bundles whose data changed.",
        discussion: """
            One request tells what has changed. Of each stale collection only the records that changed are downloaded, and \
            only the attachments that are not in the present bundle. Signatures and hashes are checked before anything is \
            written; a collection that fails keeps its last good bundle, and the others are refreshed all the same.

            Pinned collections stay where they are. A bundle or an attachment over its budget in dumps.yaml is an error, and \
            what is held stays; where all bundles together are over theirs, nothing is changed.

            With --locked nothing is written, and the exit code is 6 where anything would change: the server has something \
            newer, a bundle is missing or damaged, or dumps.yaml asks for other attachments.

            Examples:
              rsdump refresh
              rsdump refresh main/regions --format json
              rsdump refresh --summary summary.md    for a pull request or a job's page
              rsdump refresh --locked                on a release branch

            \(ExitStatus.help)
            """)

    @Argument(help: ArgumentHelp("Collections, as BUCKET/COLLECTION; all that dumps.yaml names if none is given."))
    var collections: [String] = []

    @OptionGroup var dumps: DumpsOptions
    @OptionGroup var server: ServerOptions

    @Flag(help: "Ask the server what has changed, and write nothing.")
    var dryRun = false

    @Flag(help: "Write nothing, and fail with 6 where anything would change.")
    var locked = false

    @Flag(help: "Download all records again, not only what is newer than the bundles.")
    var full = false

    @Option(help: ArgumentHelp("Requests under way at once, 1 to 64.", valueName: "n"))
    var jobs = 8

    @Option(
        help: ArgumentHelp(
            "Fail where a pin is past its last day and its bundle older than this, such as 90d.", valueName: "age"))
    var maxAge: Age?

    @Option(help: "How to print the result: text or json.")
    var format = OutputFormat.text

    @Option(help: ArgumentHelp("Also write the result as Markdown to this file.", valueName: "file.md"))
    var summary: String?

    @Flag(help: "Print no progress.")
    var noProgress = false

    func validate() throws {
        guard (1...64).contains(jobs) else { throw ValidationError("--jobs is \(jobs), expected 1 to 64") }
        if locked && (dryRun || full) {
            throw ValidationError("--locked goes neither with --dry-run nor with --full")
        }
        _ = try collectionIDs(collections)
    }

    func run() async throws {
        try await running {
            let opened = try OpenDumps(dumps, collections, applying: server.applied)
            let progress = Progress(isShown: !noProgress)
            var options = Refresh.Options()
            options.isFull = full
            options.isDryRun = dryRun
            options.isLocked = locked
            options.maxAge = maxAge?.duration
            options.jobs = jobs
            let report = try await opened.withServer(jobs: jobs, onEvent: { progress.show(.http($0)) }) { client in
                defer { progress.finish() }
                return try await Refresh(
                    opened.directory, configuration: opened.configuration, client: client, policy: opened.policy,
                    options: options, now: HTTPEnvironment.system.now(), onEvent: { progress.show($0) }
                ).run(opened.names)
            }
            for outcome in report.outcomes {
                if let warning = outcome.pin.flatMap(PinText.warning) {
                    Console.error("warning: \(outcome.id): \(warning)")
                }
            }
            switch format {
            case .text: Console.print(RefreshText(report, isColored: Console.outputIsColored).text)
            case .json: Console.print(json: RefreshJSON.document(report))
            }
            if let summary { try RefreshMarkdown(report).write(to: summary) }
            let status = RefreshExit.status(of: report)
            if status != .done { throw status.code }
        }
    }
}

/// The collections that a command line names.
func collectionIDs(_ names: [String]) throws(ValidationError) -> [CollectionID] {
    var ids: [CollectionID] = []
    for name in names {
        do {
            ids.append(try CollectionID(name))
        } catch {
            throw ValidationError("\(error)")
        }
    }
    return ids
}
