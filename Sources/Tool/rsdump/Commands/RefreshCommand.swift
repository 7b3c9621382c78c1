import ArgumentParser
import Dumps
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// `rsdump refresh`
struct RefreshCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refresh",
        abstract: "Download what is new, verify it, and rewrite the bundles whose data changed.",
        usage: "rsdump refresh [<collections> ...] [<options>]",
        discussion: """
            Exits with 1 if a collection fails or is too old (--max-age), and with 6 if --locked finds a change.
              rsdump refresh main/password-rules --dry-run    before a refresh
            For details, see Refresh.md in share/doc/rsdump.
            """)

    @OptionGroup var collections: CollectionNames

    @OptionGroup var dumps: DumpsOptions
    @OptionGroup var server: ServerOptions

    @OptionGroup var dryRun: DryRunOption

    @Flag(help: "Write nothing; exit with 6 if anything would change.")
    var locked = false

    @Flag(help: "Download all records again, not only the changed ones.")
    var full = false

    @OptionGroup var accept: AcceptOption

    @OptionGroup var age: MaxAgeOption

    @Option(
        help: ArgumentHelp(
            "How long to wait if another rsdump is using the directory, such as 10m.", valueName: "duration"),
        transform: Age.init)
    var wait: Age?

    @OptionGroup var onChange: OnChangeOptions

    @OptionGroup var result: FormatOption<OutputFormat>

    @OptionGroup var markdown: SummaryOption
    private var summary: String? { markdown.file }

    func validate() throws {
        if !accept.collections.isEmpty && (dryRun.isGiven || locked) {
            throw ValidationError("--accept cannot be combined with --dry-run or --locked, which change nothing")
        }
        if locked && (dryRun.isGiven || full) {
            throw ValidationError("--locked cannot be combined with --dry-run or --full")
        }
        if !onChange.commands.isEmpty && (dryRun.isGiven || locked) {
            throw ValidationError("--on-change cannot be combined with --dry-run or --locked, which change nothing")
        }
    }

    func run() async throws {
        let refreshed = try await refreshed()
        try result.print(RefreshText(result: refreshed, style: .output).text, refreshed)
        if refreshed.report.exitStatus != .done { throw refreshed.report.exitStatus.code }
    }

    /// Refreshes, and writes the summary.
    func refreshed() async throws -> RefreshResult {
        try FileStore.checkOutput(summary)
        let progress = Progress()
        var options = Refresh.Options()
        options.isFull = full
        options.isDryRun = dryRun.isGiven
        options.accepted = Set(accept.collections)
        options.isLocked = locked
        options.maxAge = age.max?.duration
        let wait = wait?.duration ?? .zero
        let ((report, opened), told) = try await onChange.telling(of: dumps.directory, waiting: wait) {
            let (transaction, opened) = try await OpenDumps.begin(
                dumps, waiting: wait, isReadOnly: options.isReadOnly, applying: server.applied)
            defer { try? transaction.end() }
            if let summary { try opened.refuseOwn(summary) }
            let report = try await opened.refresh(
                collections.names, in: transaction, options: options, progress: progress)
            return (report, opened)
        }
        for outcome in report.outcomes {
            if let warning = outcome.pin.flatMap(PinText.warning) {
                Console.error("warning: \(outcome.id): \(warning)")
            }
        }
        let now = HTTPEnvironment.system.now()
        if let summary {
            // Check again, because the refresh may have just created the dumps files.
            try opened.refuseOwn(summary)
            try FileStore.writeOutput(summary, Bytes(utf8: RefreshMarkdown(report, now: now).text))
        }
        return RefreshResult(report: report, hooks: told)
    }
}

extension OpenDumps {
    /// Checks that the summary file is not a file of the dumps directory.
    ///
    /// - Throws: ``CommandFailure`` if the summary would overwrite a dumps file.
    fileprivate func refuseOwn(_ summary: String) throws {
        let bundles = configuration.collections.map { directory.bundlePath($0.id) }
        for file in [directory.configurationPath, directory.lockPath] + bundles
        where try FileStore.isSameFile(summary, file) {
            throw CommandFailure(
                .usage,
                "--summary \(summary) would overwrite \(file); choose a different file"
            )
        }
    }

    /// Refreshes the listed collections, or all if the list is empty. Throws the errors of `Refresh.run`.
    func refresh(
        _ names: [CollectionID], in transaction: DumpsTransaction, options: Refresh.Options, progress: Progress
    ) async throws -> RefreshReport {
        try await withServer(jobs: options.jobs, onEvent: { progress.show(.http($0)) }) { client in
            async let _ = progress.draw { client.metrics.bodyBytes }
            // Leaving this scope cancels the drawing, and waits until the bars are removed.
            return try await Refresh(
                transaction, configuration: configuration, client: client, policy: policy, options: options,
                now: HTTPEnvironment.system.now(), onEvent: { progress.show($0) }
            ).run(names)
        }
    }
}

extension RefreshReport {
    /// The exit code of the refresh.
    var exitStatus: ExitStatus {
        if isLocked && wouldChange { return .wouldChange }
        if failed.isEmpty { return excess == nil ? .done : .someFailed }
        if backoffSeconds != nil { return .backoff }
        if isStoppedByFiles { return .tryAgain }
        return isUnreachable ? .unreachable : .someFailed
    }
}
