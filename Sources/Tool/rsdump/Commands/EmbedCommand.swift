import ArgumentParser
import Dumps
import DumpsExchange
import RemoteSettingsHTTP
import RemoteSettingsModel

/// `rsdump embed`
struct EmbedCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "embed",
        abstract: "Write a C target that embeds bundles in a program.",
        usage: "rsdump embed [<collections> ...] [<options>]",
        discussion: """
            The app reads the bundles in place. Exits with 6 if --check finds a change.
              rsdump embed --swift Sources/App/Dumps.swift --types
              rsdump embed --check --server prod
            For details, see Embed.md in share/doc/rsdump.
            """)

    @OptionGroup var collections: CollectionNames

    @OptionGroup var dumps: ReadDumpsOptions

    @Option(
        help: ArgumentHelp(
            "Fail if a bundle is not from this server: prod, stage, dev, or a base URL.", valueName: "server"))
    var server: String?

    @Option(name: .shortAndLong, help: ArgumentHelp("The folder of the C target.", valueName: "dir"))
    var output = "Sources/EmbeddedDumps"

    @Option(
        name: .customLong("swift"),
        help: ArgumentHelp("Also write a Swift file that makes the bundles available.", valueName: "file.swift"))
    var swiftFile: String?

    @Flag(help: "In that file, also declare a Swift type for each collection's records.")
    var types = false

    @Flag(help: "Store records uncompressed: faster to read, but a larger program.")
    var stored = false

    @Flag(help: "Write nothing; exit with 6 if anything would change.")
    var check = false

    @OptionGroup var result: FormatOption<OutputFormat>

    func validate() throws {
        try ServerOption.check(server)
        if types, swiftFile == nil { throw ValidationError("--types requires --swift") }
    }

    private struct Report: Encodable {
        let output: String
        let changed: [String]
        let misfits: [String]
        let isCheck: Bool
    }

    mutating func run() async throws {
        let commit = try await dumps.checkOutCommit()
        defer { withExtendedLifetime(commit) {} }
        let opened = try OpenDumps(dumps, isConfigured: false)
        if collections.names.isEmpty { try dumps.warnOfMissing() }
        var options = Embedding.Options()
        options.collections = collections.names
        options.isStored = stored
        options.isTemporary = commit != nil
        options.swiftFile = swiftFile
        options.hasTypes = types
        if types {
            for id in try opened.directory.lockFile().collections.keys {
                options.schemas[id] = opened.configuration.settings(of: id).guards.schema
            }
        }
        options.server = try server.map { (text) throws(Failure) in
            try ServerURL(text, allowPlainHTTP: true)
        }
        let verifier = BundleVerifier(opened.policy)
        let folder = output.withoutTrailingSlashes
        let embedding = Embedding(opened.directory, to: folder, options: options, verifier: verifier)
        let misfits = try embedding.misfits()
        let paths = try check ? embedding.stale() : embedding.write()
        let lines = misfits + paths.map { "\($0): \(check ? "out of date" : "written")" }
        try result.print(
            paths.isEmpty
                ? "\(folder): up to date" : lines.joined(separator: "\n"),
            Report(output: folder, changed: paths, misfits: misfits, isCheck: check))
        if check, !paths.isEmpty, result.format == .text {
            Console.error("rsdump: to write them, run rsdump embed without --check")
        }
        if check, !paths.isEmpty { throw ExitStatus.wouldChange.code }
    }
}
