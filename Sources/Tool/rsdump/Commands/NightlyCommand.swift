import ArgumentParser
import CurlTransport
import Dumps
import DumpsExchange
import Job
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// `rsdump nightly`
struct NightlyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nightly",
        abstract: "Refresh dumps in git, and land what changed with one pull request.",
        usage: "rsdump nightly [<options>] [-- <options of refresh> ...]",
        discussion: """
            Run this in any clone of the repository, whose files and branches are not touched. Exits with 7 if git, \
            GitHub or GitLab fails, otherwise as refresh does. \
            --dumps, --branch, --base, --remote, --summary, --before-commit and --on-change are also read from \
            variables, such as NIGHTLY_BASE; the token from GH_TOKEN, GITHUB_TOKEN or GITLAB_TOKEN.
              rsdump nightly --label dumps -- --max-age 90d
            For details, see Refresh.md in share/doc/rsdump.
            """)

    @OptionGroup var dumps: DumpsOptions

    @Option(help: ArgumentHelp("The branch for changes; by default, remote-settings-DIR.", valueName: "name"))
    var branch: String?

    @Option(help: ArgumentHelp("The branch to merge them into; by default, the remote's.", valueName: "name"))
    var base: String?

    @Option(help: ArgumentHelp("The remote with both branches; by default, origin.", valueName: "name"))
    var remote: String?

    @OptionGroup var summary: SummaryOption

    @Option(
        name: .customLong("push-option"), parsing: .singleValue,
        help: ArgumentHelp("An option for git push; repeatable.", valueName: "option"))
    var pushOptions: [String] = []

    @Flag(help: "Push only, and print what to do next.")
    var noPullRequest = false

    @Option(parsing: .singleValue, help: ArgumentHelp("A label for a new pull request; repeatable.", valueName: "name"))
    var label: [String] = []

    @Option(
        parsing: .singleValue,
        help: ArgumentHelp("A reviewer for a new pull request; repeatable.", valueName: "name"))
    var reviewer: [String] = []

    @Option(help: ArgumentHelp("The beginning of the pull request's title.", valueName: "text"))
    var titlePrefix = ""

    @Option(help: ArgumentHelp("Run this before each commit, such as rsdump embed.", valueName: "command"))
    var beforeCommit: String?

    @Option(
        parsing: .singleValue,
        help: ArgumentHelp("Also commit this path, which --before-commit changes; repeatable.", valueName: "path"))
    var also: [String] = []

    @OptionGroup var onChange: OnChangeOptions

    @Flag(help: "Change nothing; check the current commit and the output of --before-commit.")
    var verify = false

    @Argument(parsing: .postTerminator, help: .hidden)
    var refreshOptions: [String] = []

    func run() async throws {
        let variables = ProcessInfo.processInfo.environment
        func value(_ given: String?, _ name: String) -> String? {
            given ?? variables["NIGHTLY_\(name)"].flatMap { $0.isEmpty ? nil : $0 }
        }
        var options = NightlyJob.Options()
        options.dumps = try Self.place(value(dumps.path.exactly("dumps") ? nil : dumps.path, "DUMPS") ?? "dumps")
        options.branch = value(branch, "BRANCH")
        options.base = value(base, "BASE")
        options.pushOptions = pushOptions
        options.opensRequest = !noPullRequest
        options.beforeCommit = value(beforeCommit, "BEFORE_COMMIT")
        options.also = try also.map(Self.place)
        options.onChange =
            onChange.commands + (onChange.commands.isEmpty ? [value(nil, "ON_CHANGE")].compactMap(\.self) : [])
        (options.labels, options.reviewers, options.titlePrefix) = (label, reviewer, titlePrefix)
        if options.beforeCommit == nil, !also.isEmpty {
            throw CommandFailure(.usage, "--also requires --before-commit")
        }
        _ = try RefreshCommand.parse(refreshOptions)
        guard let path = FileStore.program else {
            throw CommandFailure(.someFailed, "the path of this rsdump cannot be determined; run it by its full path")
        }
        let clone = try await JobClone(remote: value(remote, "REMOTE") ?? "origin")
        let forge = try await ForgeFinder(
            variables, transport: CurlTransport(), userAgent: UserAgent(name: "rsdump", version: RSDump.version)
        ).forge(of: clone.url())
        var job = NightlyJob(
            clone, options: options, program: NightlyProgram(path: path, options: refreshOptions), forge: forge)
        let code = verify ? await job.verifyCommit() : await job.run()
        try finish(job.report, code, summary: value(summary.file, "SUMMARY"), variables)
    }

    /// Returns a path from the top of the repository, without slashes at its end.
    static func place(_ path: String) throws -> String {
        let place = path.withoutTrailingSlashes
        let parts = place.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.first?.exactly(".git") != true,
            parts.allSatisfy({ !$0.isEmpty && !$0.exactly(".") && !$0.exactly("..") })
        else {
            throw CommandFailure(
                .usage,
                "--dumps and --also require a path from the top of the repository; found \(VisibleText.quote(path))")
        }
        return place
    }

    /// Prints to standard error. GitHub's runner takes lines with `##[` for commands.
    fileprivate static func log(_ text: String) { Console.error(text.replacing("##[", with: "# #[")) }

    private func finish(
        _ report: NightlyReport, _ code: ExitStatus, summary: String?, _ variables: [String: String]
    ) throws {
        var status = code
        let text = Bytes(utf8: report.summary)
        if variables["GITHUB_ACTIONS"].map({ $0.exactly("true") }) == true {
            for warning in report.warnings { Self.annotate("warning", warning) }
            for problem in report.problems {
                Self.annotate(problem.code == .backoff ? "warning" : "error", problem.text)
            }
            if let file = variables["GITHUB_STEP_SUMMARY"], !file.isEmpty {
                let before = try FileStore.read(file, limit: 1 << 20) ?? Bytes()
                try FileStore.writeOutput(file, Bytes(before.array + text.array))
            }
        }
        if let summary {
            do {
                try FileStore.writeOutput(summary, text)
            } catch {
                Self.log("nightly: error: cannot write the summary to \(summary): \(Console.visible("\(error)"))")
                status = status == .done ? .usage : status
            }
        } else {
            Self.log(report.summary)
        }
        for line in report.landed { Self.log("nightly: \(line)") }
        Self.log("nightly: exit code \(status.rawValue)\(summary.map { "; the summary is in \($0)" } ?? "")")
        if status != .done { throw status.code }
    }

    /// Shows a text beside the job, on GitHub.
    private static func annotate(_ level: String, _ text: String) {
        let visible = Console.visible(text)
        let escaped = visible.replacing("%", with: "%25").replacing("\r", with: "%0D").replacing("\n", with: "%0A")
        Console.print("::\(level) title=Remote Settings dumps::\(escaped)")
    }
}

/// The commands of this program that the job runs.
private struct NightlyProgram: NightlyJob.Program {
    let path: String
    /// The options of `rsdump refresh`.
    let options: [String]

    var now: Timestamp { HTTPEnvironment.system.now() }

    func refresh(_ directory: DumpsDirectory, isFull: Bool) async -> (
        report: RefreshReport?, code: ExitStatus, reason: String?
    ) {
        do {
            let full = isFull && !options.contains("--full") ? ["--full"] : []
            let result = try await RefreshCommand.parse(options + ["--dumps", directory.path] + full).refreshed()
            NightlyCommand.log(RefreshText(result: result, style: .plain).text)
            let reason = result.report.failed.first?.error.map { "\($0)" }
            return (result.report, result.report.exitStatus, reason)
        } catch {
            let failure = CommandFailure(error)
            NightlyCommand.log("rsdump: \(Console.visible("\(failure)"))")
            return (nil, failure.status, failure.description)
        }
    }

    func misfits(_ directory: DumpsDirectory, _ file: String) throws -> [String] {
        let configuration = try directory.configuration()
        var options = Embedding.Options()
        (options.hasTypes, options.swiftFile) = (true, file)
        for id in try directory.lockFile().collections.keys {
            options.schemas[id] = configuration.settings(of: id).guards.schema
        }
        let verifier = BundleVerifier(try configuration.policy(file: directory.configurationPath))
        return try Embedding(directory, to: "EmbeddedTypes", options: options, verifier: verifier).misfits()
    }

    func log(_ text: String) { NightlyCommand.log("nightly: \(text)") }
}

extension StringProtocol {
    /// Whether both have the same bytes.
    fileprivate func exactly(_ other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
