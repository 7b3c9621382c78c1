import ArgumentParser
import DumpsRefresh
import RemoteSettingsHTTP
import RemoteSettingsModel

/// `rsdump status`
struct Status: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Tell how old each bundle is, and what a refresh would do.",
        discussion: """
            The age is the time since the bundle's data was taken from the server. It counts against a bundle only where the \
            server has something newer, or where the server is not asked (--offline): what has not changed does not get old. \
            One request is made, none with --offline.

            Sizes are compared with the lock in git's HEAD, where the directory lies in a git repository: the growth is what a \
            commit would add. A pinned bundle does not get old until its pin is past its last day.

            Examples:
              rsdump status
              rsdump status --offline --max-age 90d    before a release

            Exits with 1 where a bundle is missing, or outdated and older than --max-age.
            """)

    @Argument(help: "Collections, as BUCKET/COLLECTION; all that dumps.yaml names if none is given.")
    var collections: [String] = []

    @OptionGroup var dumps: DumpsOptions
    @OptionGroup var server: ServerOptions

    @Flag(help: "Ask no server.")
    var offline = false

    @Option(help: ArgumentHelp("Warn about outdated bundles older than this, such as 30d or 12h.", valueName: "age"))
    var warnAge = Age(days: 30)

    @Option(help: ArgumentHelp("Fail for outdated bundles older than this.", valueName: "age"))
    var maxAge = Age(days: 90)

    @Option(help: "How to print the result: text or json.")
    var format = OutputFormat.text

    func validate() throws {
        _ = try collectionIDs(collections)
    }

    func run() async throws {
        try await running {
            let opened = try OpenDumps(dumps, collections, applying: server.applied)
            let now = HTTPEnvironment.system.now()
            let survey = Survey(
                opened.directory, configuration: opened.configuration, policy: opened.policy, now: now,
                limits: opened.limits)
            let states =
                offline
                ? try survey.offline(opened.names)
                : try await opened.withServer(jobs: 1) { try await survey.online(opened.names, client: $0) }
            let judged = states.map { StatusReport.Line($0, now: now, warnAge: warnAge, maxAge: maxAge) }
            let report = StatusReport(
                lines: judged, isOffline: offline, configuration: opened.configuration,
                sizes: await SizeComparison(opened.directory, limits: opened.limits))
            switch format {
            case .text: Console.print(report.text(Style(isColored: Console.outputIsColored)))
            case .json: Console.print(json: report.json)
            }
            if judged.contains(where: { $0.verdict == .tooOld || $0.verdict == .missing }) {
                throw ExitStatus.someFailed.code
            }
        }
    }
}

/// An age as people write it: `90d`, `36h`, `45m`.
struct Age: ExpressibleByArgument, CustomStringConvertible {
    let description: String
    let duration: Duration

    init(days: Int) {
        description = "\(days)d"
        duration = .seconds(days * 86_400)
    }

    init?(argument: String) {
        let factors: [Character: Int] = ["d": 86_400, "h": 3600, "m": 60]
        guard let unit = argument.last, let factor = factors[unit], argument.count <= 7,
            let count = Int(argument.dropLast()), count >= 0
        else { return nil }
        description = argument
        duration = .seconds(count * factor)
    }

    var defaultValueDescription: String { description }
}
