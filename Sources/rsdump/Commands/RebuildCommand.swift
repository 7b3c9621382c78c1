import ArgumentParser
import Dumps
import FileStorage
import RemoteSettingsModel

/// `rsdump rebuild`
struct RebuildCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rebuild",
        abstract: "Write every bundle again from its own contents, and tell whether the bytes are as locked.",
        discussion: """
            Each bundle is verified, taken apart and packed again, in a temporary directory that is removed at the end, or in \
            --output. Offline; nothing under the dumps directory is touched.

            The same version of zlib writes the same bytes. Another version may compress differently: the bundle then has the \
            same content (the hash of its uncompressed manifest) in other bytes, which is reported and is not a failure.

            Examples:
              rsdump rebuild
              rsdump rebuild main/regions --output rebuilt

            Exits with 3 where a bundle is not as locked, or cannot be written again with the same content.
            """)

    @Argument(help: "Collections, as BUCKET/COLLECTION; all of the lock if none is given.")
    var collections: [String] = []

    @OptionGroup var dumps: DumpsOptions

    @OptionGroup var trust: TrustOptions

    @Option(help: ArgumentHelp("Keep the rebuilt bundles in this directory.", valueName: "dir"))
    var output: String?

    @Option(help: "How to print the result: text or json.")
    var format = OutputFormat.text

    func validate() throws {
        _ = try collectionIDs(collections)
    }

    func run() async throws {
        try await running {
            let opened = try OpenDumps(dumps, collections, applying: trust.applied)
            let target = try output ?? FileStore.makeTemporaryDirectory("rsdump")
            defer { if output == nil { try? FileStore.removeTree(target) } }
            try FileStore.makeDirectories(target)
            let rebuild = Rebuild(opened.directory, to: target, policy: opened.policy, limits: opened.limits)
            let outcomes = try await rebuild.run(opened.names)
            let report = RebuildReport(outcomes: outcomes)
            switch format {
            case .text: Console.print(report.text(Style(isColored: Console.outputIsColored)))
            case .json: Console.print(json: report.json)
            }
            if !report.isGood { throw ExitStatus.verificationFailed.code }
        }
    }
}
