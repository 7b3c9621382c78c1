import ArgumentParser
import Dumps
import RemoteSettingsModel
import SnapshotExchange

/// `rsdump embed`
struct Embed: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "embed",
        abstract: "Make bundles part of a program: write a C target whose bytes they are.",
        discussion: """
            Writes MODULE.c and include/MODULE.h into the output folder, whose name is the module's, from the lock and \
            its bundles. The source names the bundles by relative paths (#embed), so that the compiler takes them in \
            again when they change. An app reads them in place: --swift writes the function that it calls, for \
            RemoteSettingsConfig(packaged:).

            With names, or with --stored, the target gets a lock of its own, and with --stored bundles of its own: name \
            both (dumps.lock.json, bundles) under exclude: in Package.swift.

            Exits with 6 where --check finds that the target is not what would be written.

            Examples:
              rsdump embed --output Sources/EmbeddedDumps \\
                --swift Sources/App/PackagedSource+EmbeddedDumps.swift
              rsdump embed --output Sources/EmbeddedDumps --check
            """)

    @Argument(help: "Collections, as BUCKET/COLLECTION; all that the lock has if none is given.")
    var collections: [String] = []

    @OptionGroup var dumps: DumpsOptions

    @Option(name: .shortAndLong, help: ArgumentHelp("The folder of the C target.", valueName: "dir"))
    var output = "Sources/EmbeddedDumps"

    @Option(name: .customLong("swift"), help: ArgumentHelp("Also write the Swift function.", valueName: "file.swift"))
    var swiftFile: String?

    @Flag(name: .customLong("public"), help: "Make the Swift function public.")
    var isPublic = false

    @Flag(help: "Store records uncompressed: larger, and read without inflating.")
    var stored = false

    @Flag(help: "Write nothing; exit with 6 if anything would change.")
    var check = false

    @Option(help: "How to print the result: text or json.")
    var format = OutputFormat.text

    func validate() throws {
        _ = try collectionIDs(collections)
    }

    func run() async throws {
        try await running {
            let opened = try OpenDumps(dumps, collections, isConfigured: false)
            var options = Embedding.Options()
            options.collections = opened.names
            options.isStored = stored
            options.swiftFile = swiftFile
            options.isPublic = isPublic
            let verifier = BundleVerifier(
                opened.policy, limits: opened.limits)
            var folder = output[...]
            while folder.count > 1, folder.hasSuffix("/") { folder = folder.dropLast() }
            let embedding = Embedding(opened.directory, to: String(folder), options: options, verifier: verifier)
            let paths = try check ? embedding.stale() : embedding.write()
            switch format {
            case .text:
                for path in paths { Console.print("\(path): \(check ? "is stale" : "written")") }
                if paths.isEmpty { Console.print("\(folder): is as the lock and its bundles say") }
                if check, !paths.isEmpty { Console.error("rsdump: run rsdump embed without --check to write them") }
            case .json:
                Console.print(
                    json: .members([
                        "output": .string(String(folder)), "changed": .array(paths.map(JSONValue.string)),
                        "isCheck": .bool(check),
                    ]))
            }
            if check, !paths.isEmpty { throw ExitStatus.wouldChange.code }
        }
    }
}
