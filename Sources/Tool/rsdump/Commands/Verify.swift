import ArgumentParser
import Dumps
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// `rsdump verify`
struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check every byte, hash, signature and lock entry again, offline.",
        discussion: """
            Signatures are verified at the time that the lock records for each bundle, not at the current time, \
            because a shipped bundle outlives the certificates that signed it. A pinned collection must be at its pin.

            If dumps.yaml has catalogue:, the bundles must have the states that the packaged catalogue of that \
            publisher lists. The output names pinned collections, which are not part of the catalogue.

            With --locked, the directory must contain exactly what the lock says, and the lock must have the \
            attachments and the trusted roots that dumps.yaml asks for. An unsigned or imported bundle requires a pin \
            or trust: accept-unsigned: true in dumps.yaml. Besides the bundles, only these files are \
            allowed: dumps.yaml, dumps.lock.json, .gitignore, .gitattributes, files whose names begin with README, \
            NOTICE, LICENSE or COPYING, and .rsdump/, which a refresh may leave.

            With --guards, the bundles are also checked by the guards in dumps.yaml, compared with their earlier \
            states in git's commits. A state that was taken with --accept, as the lock says, is not checked again.

            With --rebuild, each bundle is also unpacked and packed again, in --output or in a temporary directory, and \
            the bytes are compared with the lock file. The same version of zlib writes the same bytes. Another one may \
            compress differently: the content (the hash of the uncompressed manifest) is then the same.

            Examples:
              rsdump verify main/regions
              rsdump verify --locked --dumps dumps
              rsdump verify --dumps git:v1.0
              rsdump verify --rebuild --output rebuilt

            Exits with 3 if anything is wrong, or if rebuilt bytes differ. Otherwise, exits with 1 if a bundle, an attachment or all bundles \
            together exceed the budget in dumps.yaml, if a bundle violates its guards, or if the catalogue was last \
            confirmed longer ago than its max-age.
            """)

    @OptionGroup var collections: CollectionNames

    @OptionGroup var dumps: ReadDumpsOptions

    @Flag(help: "Also fail if there are other files, or if dumps.yaml asks for something other than the lock has.")
    var locked = false

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
            throw ValidationError("--locked checks the whole directory; name no collections with it")
        }
        if output != nil && !rebuild { throw ValidationError("--output requires --rebuild") }
    }

    mutating func run() async throws {
        let commit = try await dumps.checkOutCommit()
        defer { withExtendedLifetime(commit) {} }
        let opened = try OpenDumps(dumps, applying: trust.applied)
        let verification = Verification(opened.directory, policy: opened.policy, limits: opened.limits)
        let outcomes = try await verification.run(collections.names, configured: opened.configuration.allCollections)
        let now = HTTPEnvironment.system.now()
        let catalogue =
            collections.names.isEmpty
            ? try CatalogueVerification(
                opened.directory, opened.configuration, policy: opened.policy, limits: opened.limits) : nil
        // If its owner sets no limit, a directory does not become invalid with age.
        let hasLimit = opened.configuration.catalogue?.maxAge != nil
        let report = VerifyReport(
            outcomes: outcomes, catalogue: catalogue, now: now,
            strays: locked ? try opened.directory.strayFiles() : nil,
            unlisted: locked
                ? try opened.directory.unlistedCollections(opened.directory.lockFile(limits: opened.limits)) : nil,
            disagreements: locked ? try disagreements(opened, outcomes, at: now) : nil,
            guarded: guards
                ? try await verification.violations(
                    by: opened.configuration, of: outcomes, history: await history(opened)) : nil,
            tooOld: hasLimit ? CatalogueText.problem(catalogue, opened.configuration, at: now) : nil,
            excess: try opened.directory.lockFile(limits: opened.limits).excess(over: opened.configuration.totalBudget),
            rebuilt: rebuild ? try await rebuilt(opened) : nil)
        try result.print(report.text(.output), report)
        if report.isGood, report.rebuilt?.isStoppedByFiles == true { throw ExitStatus.tryAgain.code }
        if !report.isGood || report.rebuilt?.isGood == false { throw ExitStatus.verificationFailed.code }
        if !report.isWithinBudget || !report.passesGuards || report.tooOld != nil { throw ExitStatus.someFailed.code }
    }

    /// Packs the bundles again, and keeps them if all could be packed and --output asks for it.
    private func rebuilt(_ opened: OpenDumps) async throws -> RebuildReport {
        let output = output?.withoutTrailingSlashes
        if let output {
            guard try !opened.directory.isAt(output) else { throw DumpsError.ownDirectory(output) }
            try FileStore.checkReplaceable(output)
        }
        let target = try output.map(FileStore.makeOutputDirectory) ?? TemporaryDirectory()
        defer { withExtendedLifetime(target) {} }
        let rebuild = Rebuild(opened.directory, to: target.path, policy: opened.policy, limits: opened.limits)
        let report = RebuildReport(outcomes: try await rebuild.run(collections.names))
        if let output, report.isComplete { try FileStore.placeOutput(target.path, at: output) }
        return report
    }

    /// The earlier states that guards compare with; `nil` if git has none.
    private func history(_ opened: OpenDumps) async -> BundleHistory? {
        do throws(DumpsError) {
            return try await BundleHistory(of: opened.directory.path, in: ["git"], limits: opened.limits)
        } catch {
            Console.error("note: guards that compare with earlier states were skipped: \(error)")
            return nil
        }
    }

    /// What a refresh would change in bundles that verify, because dumps.yaml asks for something else.
    private func disagreements(
        _ opened: OpenDumps, _ outcomes: [Verification.Outcome], at now: Timestamp
    ) throws -> [Survey.Disagreement] {
        guard !opened.configuration.allCollections.isEmpty else { return [] }
        let good = Set(outcomes.filter { $0.verdict.isGood }.map(\.id))
        let survey = Survey(
            opened.directory, configuration: opened.configuration, policy: opened.policy, now: now,
            limits: opened.limits)
        return try survey.disagreements().filter { good.contains($0.collection) }
    }
}
