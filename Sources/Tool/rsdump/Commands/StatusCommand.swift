import ArgumentParser
import Dumps
import RemoteSettingsHTTP
import RemoteSettingsModel

/// `rsdump status`
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show how old each bundle is, and what a refresh would do.",
        usage: "rsdump status [<collections> ...] [<options>]",
        discussion: """
            A bundle is outdated only if the server has newer data. Exits with 1 if one is missing, or outdated \
            and older than --max-age (90d by default; no limit with --offline), or if a budget is exceeded.
              rsdump status --max-age 90d    before a release
            For details, see Refresh.md in share/doc/rsdump.
            """)

    @OptionGroup var collections: CollectionNames

    @OptionGroup var dumps: ReadDumpsOptions
    @OptionGroup var server: ServerOptions

    @Flag(help: "Do not contact the server.")
    var offline = false

    @OptionGroup var age: MaxAgeOption

    @OptionGroup var result: FormatOption<OutputFormat>

    mutating func run() async throws {
        let commit = try await dumps.checkOutCommit()
        defer { withExtendedLifetime(commit) {} }
        let opened = try OpenDumps(dumps, applying: server.applied)
        let now = HTTPEnvironment.system.now()
        let survey = Survey(opened.directory, configuration: opened.configuration, policy: opened.policy, now: now)
        let (states, problem) = try await look(survey, opened)
        let isOffline = offline || problem != nil
        let limit = age.max?.duration ?? (isOffline ? nil : .seconds(90 * 86_400))
        let report = StatusReport(
            states: states.map { ($0, $0.freshness(at: now, maxAge: limit)) },
            unlisted: try opened.directory.unlistedCollections(opened.directory.lockFile()),
            now: now, isOffline: isOffline, configuration: opened.configuration,
            sizes: await SizeComparison(opened.directory),
            missed: await MissedRefreshes(opened.directory))
        try result.print(report.text(.output), report)
        if let problem { throw problem }
        if report.hasFailures { throw ExitStatus.someFailed.code }
    }

    /// Returns the states, and an error if the server could not be queried. The states then come only from local files.
    private func look(_ survey: Survey, _ opened: OpenDumps) async throws -> ([SurveyedCollection], Failure?) {
        guard !offline else { return (try survey.offline(collections.names), nil) }
        do {
            let states = try await opened.withServer(jobs: 1) { try await survey.online(collections.names, client: $0) }
            return (states, nil)
        } catch let error as Failure {
            return (try survey.offline(collections.names), error)
        }
    }
}

/// The `--max-age` option.
struct MaxAgeOption: ParsableArguments {
    @Option(
        name: .customLong("max-age"),
        help: ArgumentHelp(
            "The largest age, such as 90d, of a bundle that is outdated or has an expired pin.",
            valueName: "age"), transform: Age.init)
    var max: Age?
}

/// An age on the command line: `90d`, `36h`, `45m`.
struct Age {
    let duration: Duration

    init(_ text: String) throws {
        guard let duration = Duration(age: text) else {
            throw ValidationError("write a number with a unit, such as 90d, 36h or 45m")
        }
        self.duration = duration
    }
}
