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
            Verifies, unpacks and packs each bundle again, in --output or in a temporary directory that is removed at \
            the end. Works offline and changes nothing in the dumps directory.

            The same version of zlib writes the same bytes. Another version may compress differently. The bundle then \
            has the same content (the hash of its uncompressed manifest) in other bytes, which is reported but does \
            not count as a failure.

            Examples:
              rsdump rebuild
              rsdump rebuild main/regions --output rebuilt

            Exits with 3 if a bundle differs from its lock entry, or if it cannot be rebuilt with the same content.
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
        let temporary = output == nil ? try TemporaryDirectory() : nil
        defer { withExtendedLifetime(temporary) {} }
        let target = output ?? temporary?.path ?? ""
        try FileStore.makeDirectories(target)
        let rebuild = Rebuild(opened.directory, to: target, policy: opened.policy, limits: opened.limits)
        let outcomes = try await rebuild.run(collections)
        let report = RebuildReport(outcomes: outcomes)
        format.print(report.text(.output), report.json)
        if !report.isGood { throw ExitStatus.verificationFailed.code }
    }
}
