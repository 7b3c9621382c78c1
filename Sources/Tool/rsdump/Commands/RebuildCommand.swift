import ArgumentParser
import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// `rsdump rebuild`
struct RebuildCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rebuild",
        abstract: "Rebuild every bundle from its own contents, and compare the bytes with the lock.",
        discussion: """
            Verifies, unpacks and packs each bundle again, in a temporary directory that is removed at the end. With \
            --output, the rebuilt bundles are kept there if all could be rebuilt. An existing directory is replaced \
            only if rsdump created it, or if it is empty. Works offline and changes nothing in the dumps directory.

            The same version of zlib writes the same bytes. Another version may compress differently. The bundle then \
            has the same content (the hash of its uncompressed manifest) in other bytes.

            Examples:
              rsdump rebuild
              rsdump rebuild main/regions --output rebuilt

            Exits with 3 if a bundle differs from its lock entry, or if the rebuilt bytes differ from the bundle.
            """)

    @Argument(help: "Collections, as BUCKET/COLLECTION; all in the lock by default.", transform: collectionID)
    var collections: [CollectionID] = []

    @OptionGroup var dumps: DumpsOptions

    @OptionGroup var trust: TrustOptions

    @Option(help: ArgumentHelp("Keep the rebuilt bundles in this directory.", valueName: "dir"))
    var output: String?

    @Option(help: "How to print the result: text or json.")
    var format = OutputFormat.text

    func run() async throws {
        let opened = try OpenDumps(dumps, applying: trust.applied)
        let output = output?.withoutTrailingSlashes
        if let output {
            guard try !opened.directory.isAt(output) else { throw DumpsError.ownDirectory(output) }
            try FileStore.checkReplaceable(output)
        }
        let target = try output.map(FileStore.makeOutputDirectory) ?? TemporaryDirectory()
        defer { withExtendedLifetime(target) {} }
        let rebuild = Rebuild(opened.directory, to: target.path, policy: opened.policy, limits: opened.limits)
        let report = RebuildReport(outcomes: try await rebuild.run(collections))
        if let output, report.isComplete { try FileStore.placeOutput(target.path, at: output) }
        format.print(report.text(.output), report.json)
        if report.isStoppedByFiles { throw ExitStatus.tryAgain.code }
        if !report.isGood { throw ExitStatus.verificationFailed.code }
    }
}
