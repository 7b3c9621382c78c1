import ArgumentParser
import Dumps
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// `rsdump verify`
struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check every byte, hash, signature and lock entry again, offline.",
        usage: "rsdump verify [<collections> ...] [<options>]",
        discussion: """
            Certificates are checked as of the time in the lock file, so an old bundle still verifies. Exits with 3 \
            if verification fails; otherwise with 1 if a budget or guard is violated.
              rsdump verify --locked
              rsdump verify --dumps git:v1.0
            For details, see Verify.md in share/doc/rsdump.
            """)

    @OptionGroup var collections: CollectionNames

    @OptionGroup var dumps: ReadDumpsOptions

    @Flag(help: "Also fail for unexpected files, or if dumps.yaml and the lock file differ.")
    var locked = false

    @Option(
        help: ArgumentHelp(
            "Trust what dumps.yaml of this commit trusts, such as git:origin/main, and fail if the current one "
                + "trusts more.", valueName: "git:rev"))
    var trustFrom: DiffSide.Place?

    @Flag(help: "Also check the guards in dumps.yaml.")
    var guards = false

    @Flag(help: "Also pack each bundle again from its contents, and compare the bytes.")
    var rebuild = false

    @Option(help: ArgumentHelp("With --rebuild: keep the rebuilt bundles in this directory.", valueName: "dir"))
    var output: String?

    @OptionGroup var trust: TrustOptions

    @OptionGroup var result: FormatOption<OutputFormat>

    func validate() throws {
        if locked && !collections.names.isEmpty {
            throw ValidationError("--locked checks the whole directory; give no collections with it")
        }
        if output != nil && !rebuild { throw ValidationError("--output requires --rebuild") }
        if let trustFrom {
            guard case .git = trustFrom else {
                throw ValidationError("--trust-from expects git:REV, such as git:origin/main; found \(trustFrom)")
            }
        }
    }

    mutating func run() async throws {
        let (place, tracked) = locked ? try await trackedWork() : ("", [])
        let base = try await trustedCommit()
        let commit = try await dumps.checkOutCommit()
        defer { withExtendedLifetime(commit) {} }
        var weakened: [String]?
        let opened = try OpenDumps(dumps) { proposed in
            let proposed = try trust.applied(to: proposed)
            guard let base else { return proposed }
            weakened = proposed.trustBeyond(base.configuration)
            return proposed.trusting(as: base.configuration)
        }
        guard try !opened.directory.hasLostLock() else {
            throw CommandFailure(
                .verificationFailed,
                "\(opened.directory.lockPath): the file is missing, although there are bundles; restore it from version "
                    + "control, or run rsdump refresh")
        }
        let verification = Verification(opened.directory, policy: opened.policy)
        let outcomes = try await verification.run(collections.names, configured: opened.configuration.collections)
        if let base, !base.configuration.trust.acceptsUnsigned {
            let added = outcomes.filter {
                $0.entry?.trust == .imported && base.lock.collections[$0.id]?.content != $0.entry?.content
            }
            weakened = (weakened ?? []) + added.map { "it lists \($0.id), which has new data without a signature" }
        }
        let now = HTTPEnvironment.system.now()
        let report = VerifyReport(
            outcomes: outcomes, weakened: weakened,
            strays: locked ? try opened.directory.strayFiles(tracked: tracked, at: place) : nil,
            unlisted: locked
                ? try opened.directory.unlistedCollections(opened.directory.lockFile()) : nil,
            disagreements: locked ? try disagreements(opened, outcomes, at: now) : nil,
            guarded: guards
                ? try await verification.violations(
                    by: opened.configuration, of: outcomes, history: await history(opened, commit)) : nil,
            excess: try opened.directory.lockFile().excess(over: opened.configuration.totalBudget),
            rebuilt: rebuild ? try await rebuilt(opened) : nil)
        try result.print(report.text(.output), report)
        if report.isGood, report.rebuilt?.isStoppedByFiles == true { throw ExitStatus.tryAgain.code }
        if !report.isGood || report.rebuilt?.isGood == false { throw ExitStatus.verificationFailed.code }
        if !report.isWithinBudget || !report.passesGuards { throw ExitStatus.someFailed.code }
    }

    /// Returns the settings and the lock file of the commit given by --trust-from; `nil` without it.
    private func trustedCommit() async throws -> (configuration: DumpsConfiguration, lock: LockFile)? {
        guard case .git(let revision, let path)? = trustFrom else { return nil }
        var directory = dumps.directory.path
        if case .git(_, let place)? = DiffSide.Place(dumps.path) { directory = place ?? "dumps" }
        return try await DumpsConfiguration.committed(revision, in: path ?? directory)
    }

    /// Returns the dumps directory in the work tree, and the files of its work directory that git tracks there, or in
    /// the commit given by --dumps.
    private func trackedWork() async throws -> (place: String, files: [String]) {
        guard case .git(let revision, let place)? = DiffSide.Place(dumps.path) else {
            return (dumps.directory.path, try await dumps.directory.trackedWork())
        }
        let directory = DumpsDirectory(place ?? "dumps")
        return (directory.path, try await directory.trackedWork(in: revision))
    }

    /// Packs the bundles again, and keeps the result if all could be packed and --output is given.
    private func rebuilt(_ opened: OpenDumps) async throws -> RebuildReport {
        let output = output?.withoutTrailingSlashes
        if let output {
            guard try !opened.directory.isAt(output) else { throw Failure.ownDirectory(output) }
            try FileStore.checkReplaceable(output)
        }
        let target = try output.map(FileStore.makeOutputDirectory) ?? TemporaryDirectory()
        defer { withExtendedLifetime(target) {} }
        let rebuild = Rebuild(opened.directory, to: target.path, policy: opened.policy)
        let report = RebuildReport(outcomes: try await rebuild.run(collections.names))
        if let output, report.isComplete { try FileStore.placeOutput(target.path, at: output) }
        return report
    }

    /// Returns the earlier states that guards compare with, or the reason that git has none.
    private func history(_ opened: OpenDumps, _ commit: CommittedDumps?) async -> Result<BundleHistory, Failure> {
        if let commit { return .success(commit.history) }
        do throws(Failure) {
            return .success(try await BundleHistory(of: opened.directory.path, in: ["git"]))
        } catch {
            return .failure(error)
        }
    }

    /// Returns the changes that a refresh would make to valid bundles, because `dumps.yaml` has different requirements
    /// now.
    private func disagreements(
        _ opened: OpenDumps, _ outcomes: [Verification.Outcome], at now: Timestamp
    ) throws -> [Survey.Disagreement] {
        guard !opened.configuration.collections.isEmpty else { return [] }
        let good = Set(outcomes.filter { $0.verdict.isGood }.map(\.id))
        let survey = Survey(opened.directory, configuration: opened.configuration, policy: opened.policy, now: now)
        return try survey.disagreements().filter { good.contains($0.collection) }
    }
}
