import ArgumentParser
import ContentSigning
import Dumps
import Publish
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// The `--sources` option.
struct SourcesOptions: ParsableArguments {
    @Option(name: .customLong("sources"), help: ArgumentHelp("The directory of the source files.", valueName: "dir"))
    var path = "sources"

    var sources: SourceDirectory { SourceDirectory(path.withoutTrailingSlashes) }

    /// Reads collections, and prints a warning for each file that is not used.
    func read(_ names: [CollectionID]) throws -> [CollectionSource] { try sources.readWithWarnings(names) }
}

extension SourceDirectory {
    /// Reads collections, and prints a warning for each file that is not used.
    func readWithWarnings(_ names: [CollectionID]) throws -> [CollectionSource] {
        let sources = try read(names)
        for file in try unused(by: sources, names: names) { Console.error("warning: \(Console.visible("\(file)"))") }
        return sources
    }
}

/// `rsdump publish`
struct PublishCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: "Sign collections from source files, and pack them into bundles.",
        usage: "rsdump publish [<collections> ...] [<options>]",
        discussion: """
            The source of main/markets is sources/main/markets.yaml. First run: rsdump keys create keys. \
            Exits with 1 if a collection fails, for example because it violates a guard, and with 2 if a source file has a \
            mistake. --format markdown requires --dry-run.
              rsdump publish --server https://settings.example.org/v2    the first time
              rsdump publish --dry-run --format markdown                 for a reviewer
            For details, see Publishing.md in share/doc/rsdump.
            """)

    @OptionGroup var collections: CollectionNames

    @OptionGroup var options: SourcesOptions
    @OptionGroup var dumps: DumpsOptions

    @Option(help: ArgumentHelp("The directory with the keys.", valueName: "dir"))
    var keys = "keys"

    @Option(help: ArgumentHelp("Sign with this command instead of a key in --keys.", valueName: "command"))
    var signWith: String?

    @OptionGroup var dryRun: DryRunOption

    @Flag(help: "Only sign again with the current keys; change no data.")
    var resign = false

    @Flag(help: "Publish the named collections' previous state as a new one.")
    var rollback = false

    @Option(
        help: ArgumentHelp(
            "With --rollback: publish the newest earlier state at or before this time.",
            valueName: "time"))
    var to: PinRequest?

    @Flag(help: "In a clone: publish what is committed, verify, commit the dumps, and push them.")
    var push = false

    @OptionGroup var accept: AcceptOption

    @Option(
        help: ArgumentHelp(
            "Use this time instead of now, to repeat a run; signatures still differ.",
            valueName: "date"))
    var at: String?

    @Option(
        help: ArgumentHelp("The URL of your server, from which apps sync; written to dumps.yaml.", valueName: "server"))
    var server: String?

    @Option(
        help: ArgumentHelp("A directory with keys for a second signature, under a different root.", valueName: "dir"))
    var overlapKeys: String?

    @OptionGroup var onChange: OnChangeOptions

    @OptionGroup var result: FormatOption<DiffCommand.Format>

    func validate() throws {
        try ServerOption.check(server)
        if let at, Timestamp(rfc3339: at) == nil {
            throw ValidationError("--at expects a date such as 2026-11-22 or 2026-11-22T08:00:00Z; found \(at)")
        }
        if let signWith {
            if signWith.isEmpty { throw ValidationError("--sign-with is empty; give a command") }
            if dryRun.isGiven {
                throw ValidationError("--sign-with cannot be combined with --dry-run, which signs nothing")
            }
        }
        if resign || rollback, !accept.collections.isEmpty {
            throw ValidationError("--accept cannot be combined with --resign or --rollback")
        }
        if dryRun.isGiven, !onChange.commands.isEmpty {
            throw ValidationError("--on-change cannot be combined with --dry-run")
        }
        if push, dryRun.isGiven || rollback || at != nil || !onChange.commands.isEmpty {
            throw ValidationError("--push cannot be combined with --dry-run, --rollback, --at or --on-change")
        }
        if resign, dryRun.isGiven {
            throw ValidationError("--resign cannot be combined with --dry-run, because it changes no data")
        }
        if rollback, resign || dryRun.isGiven {
            throw ValidationError("--rollback cannot be combined with --resign or --dry-run")
        }
        if rollback, collections.names.isEmpty { throw ValidationError("--rollback requires the names of collections") }
        if let to {
            if !rollback { throw ValidationError("--to requires --rollback") }
            if to.latest == nil { throw ValidationError("--to expects a date, a time or a timestamp; found \(to)") }
        }
        if result.format == .markdown, !dryRun.isGiven { throw ValidationError("--format markdown requires --dry-run") }
    }

    func run() async throws {
        let now = HTTPEnvironment.system.now()
        let time = at.flatMap(Timestamp.init(rfc3339:)) ?? now
        guard time <= now.advanced(by: .seconds(Limits.clockToleranceSeconds)) else {
            throw CommandFailure(
                .usage,
                "--at is \(time.rfc3339), more than a day from now, which apps would reject; give an earlier time")
        }
        if dryRun.isGiven {
            try await preview(options.read(collections.names), at: time)
            return
        }
        if push { return try await publishAndPush() }
        try await publish(at: time)
    }

    func publish(at time: Timestamp) async throws {
        var settings = Publisher.Options(time: time)
        // The states of a rollback passed validation when they were first published, so skip it.
        settings.accepted = Set(accept.collections).union(rollback ? collections.names : [])
        settings.isExact = at != nil
        settings.server = server
        let (outcomes, hooks) = try await onChange.telling(of: dumps.directory) {
            let transaction = try await DumpsTransaction.begin(in: dumps.directory)
            defer { try? transaction.end() }
            let signer = try signer()
            if let overlapKeys {
                settings.overlap = try KeyDirectory(overlapKeys.withoutTrailingSlashes).signer([:])
            }
            let policy = try policy(for: signer)
            let publish = Publisher(into: transaction, signer: signer, policy: policy, options: settings)
            if resign { return try await publish.resign(collections.names) }
            return try await publish.run(rollback ? try await earlierStates(policy) : options.read(collections.names))
        }
        let report = PublishReport(outcomes: outcomes, hooks: hooks)
        switch result.format {
        case .json: try Console.print(json: report)
        default: Console.print(report.text(.output))
        }
        if report.status != .done { throw report.status.code }
    }

    private func earlierStates(_ policy: TrustPolicy) async throws -> [CollectionSource] {
        var sources: [CollectionSource] = []
        for id in collections.names {
            sources.append(try await EarlierState(of: id, in: dumps.directory, to: to?.latest, by: policy).source)
        }
        return sources
    }

    private func signer() throws -> any PayloadSigner {
        let directory = KeyDirectory(keys.withoutTrailingSlashes)
        guard let signWith else { return try directory.signer(KeysCommand.environment) }
        let program = SigningProgram(signWith)
        return try directory.signer(KeysCommand.environment) { try await program.sign($0) }
    }

    /// Returns the trust policy of `dumps.yaml` or, in a new directory without this file, a policy that trusts the root
    /// of the signing key.
    private func policy(for signer: any PayloadSigner) throws -> TrustPolicy {
        guard try dumps.directory.configurationText() != nil else {
            let root = try CertificateChain(pem: signer.chain).root
            return TrustPolicy(roots: TrustAnchors([root]), signer: signer.name == .remoteSettings ? nil : signer.name)
        }
        return try OpenDumps(dumps).policy
    }

    private func preview(_ sources: [CollectionSource], at time: Timestamp) async throws {
        for note in sources.flatMap(\.notes) { Console.error("note: \(Console.visible(note))") }
        let states = try Publisher.preview(
            sources, in: dumps.directory, at: time, isExact: at != nil, accepted: Set(accept.collections))
        let present =
            try FileStore.exists(dumps.directory.lockPath)
            ? DiffSide(path: dumps.directory.path) : DiffSide(states: [:])
        let report = try await DiffReport(
            from: (.path(dumps.directory.path), present), to: (.sources(options.path), DiffSide(states: states)),
            names: states.keys.sorted())
        result.format.print(report, showsRecords: true) { text, _ in text }
    }
}

/// The result of publishing.
private struct PublishReport: Encodable {
    let outcomes: [Publisher.Outcome]
    let hooks: [ChangeHooks.Outcome]

    var status: ExitStatus { CommandFailure.status(of: outcomes.map(\.result)) }

    func text(_ style: Style) -> String {
        let width = outcomes.map { "\($0.id)".count }.max() ?? 0
        var lines = outcomes.flatMap { outcome in
            style.lines(of: outcome.id, padded: width, outcome.result, notes: outcome.notes) { state in
                let end = outcome.chainEnd.map { ", signature valid until \($0.rfc3339)" } ?? ""
                return "\(Self.words(state, style)), at \(state.timestamp.rfc3339)\(end)"
            }
        }
        let changed = outcomes.count { (try? $0.result.get()).map { $0.status != .unchanged } ?? false }
        lines.append("\(changed) of \(Counted.text(outcomes.count, "collection")) published")
        return lines.joined(separator: "\n") + HooksReport.text(hooks)
    }

    private static func words(_ state: NextState, _ style: Style) -> String {
        switch state.status {
        case .unchanged: "unchanged"
        case .resigned: "\(style.green("signed again")), data unchanged"
        case .metadata: "\(style.green("updated")), metadata only"
        case .repacked: "\(style.green("packed again")), with different attachments"
        case .created, .updated:
            "\(style.green(state.status.rawValue)), \(state.changes.created) new, \(state.changes.updated) changed, "
                + "\(state.changes.deleted) deleted"
        }
    }

    func encode(to encoder: any Encoder) throws {
        try encoder.encode(members: [
            "collections": outcomes, "hooks": hooks.isEmpty ? nil : hooks,
            "exitCode": status.rawValue,
        ])
    }
}

extension Publisher.Outcome: Encodable {
    package func encode(to encoder: any Encoder) throws {
        let state = try? result.get()
        var message: String?
        if case .failure(let error) = result { message = "\(CommandFailure(error))" }
        try state?.changes.encode(to: encoder)
        try encoder.encode(members: [
            "collection": id, "status": state?.status.rawValue ?? "failed", "timestamp": state?.timestamp,
            "chainNotAfter": chainEnd?.rfc3339, "notes": notes, "error": message,
        ])
    }
}
