import ArgumentParser
import Dumps
import DumpsExchange
import Publish
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// `rsdump import`
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import collections from Firefox, application-services, archives or saved changesets.",
        usage: "rsdump import <path> [<collections> ...] --from <format> [<options>]",
        discussion: """
            The formats:
              firefox               a package, archive or directory of Firefox
              application-services  a checkout of application-services
              server-zip            a server's ZIP file of attachments
              changeset             a server's response, saved unchanged
              files                 a directory that export --to files wrote
              dumps                 another dumps directory, or git:REV
              firebase-template     an exported Remote Config template
              defaults              a plist, JSON or Android XML file of an app

            Exits with 1 if a collection is rejected, and with 3 if hashes or signatures are invalid.
              rsdump import firefox-esr_153.deb --from firefox main/password-rules
            For details, see Exchange.md in share/doc/rsdump.
            """)

    @Argument(help: "The directory, archive or file to import.")
    var path: String

    @OptionGroup var collections: CollectionNames

    @Option(name: .customLong("from"), help: ArgumentHelp("The format of <path>.", valueName: "format"))
    var source: ImportSource

    @OptionGroup var dumps: DumpsOptions
    @OptionGroup var server: ServerOptions

    @Option(
        name: .customLong("chain"), parsing: .singleValue,
        help: ArgumentHelp("A PEM chain to verify signatures with; repeatable.", valueName: "file"))
    var chains: [String] = []

    @Option(
        name: .customLong("verify-at"),
        help: ArgumentHelp("Verify chains at this time, such as 2026-11-21, instead of now.", valueName: "date"))
    var time: String?

    @Option(
        name: .customLong("collection"),
        help: ArgumentHelp("The collection, as BUCKET/COLLECTION, if the file does not specify it.", valueName: "name"),
        transform: collectionID)
    var collection: CollectionID?

    @Option(
        help: ArgumentHelp(
            "With --from firebase-template or defaults: the directory to which the source file is written.",
            valueName: "dir"))
    var sources = "sources"

    @Flag(help: "With --from firebase-template: skip what cannot be converted.")
    var skipUnsupported = false

    @OptionGroup var result: FormatOption<OutputFormat>

    func validate() throws {
        if skipUnsupported, source != .template {
            throw ValidationError("--skip-unsupported requires --from firebase-template")
        }
        if source == .template || source == .defaults {
            if server.isGiven || !chains.isEmpty || time != nil {
                throw ValidationError(
                    "--server, --trust-root, --chain and --verify-at cannot be combined with --from firebase-template "
                        + "or --from defaults, because these are not signed")
            }
        }
        if let time, Timestamp(rfc3339: time) == nil {
            throw ValidationError(
                "--verify-at expects a date such as 2026-11-21 or 2026-11-21T08:00:00Z; found \(time)")
        }
    }

    func run() async throws {
        guard try FileStore.size(path) != 0 else { throw CommandFailure(.usage, "\(path): the file is empty") }
        guard case .format(let source) = source else { return try importSource() }
        guard try source == .dumps || !FileStore.exists(DumpsDirectory(path).lockPath) else {
            throw CommandFailure(.usage, "\(path): this is a dumps directory; import it with --from dumps")
        }
        let (transaction, opened) = try await OpenDumps.begin(dumps, isConfigured: false, applying: server.applied)
        defer { try? transaction.end() }
        var options = Import.Options(time: time.flatMap(Timestamp.init(rfc3339:)) ?? HTTPEnvironment.system.now())
        options.policy = opened.policy
        options.chains = chains
        options.collection = collection
        options.server = server.server
        options.roots = try TrustAnchors(hashes: server.trust.roots).roots
        var place = path
        var commit: CommittedDumps?
        if source == .dumps, case .git(let revision, let other)? = DiffSide.Place(path) {
            let copy = try await CommittedDumps(
                revision, of: other.map { [$0] } ?? (dumps.path == "dumps" ? ["dumps"] : [dumps.path, "dumps"]))
            Console.show(copy.name, for: copy.path)
            (commit, place) = (copy, copy.path)
        }
        defer { withExtendedLifetime(commit) {} }
        if options.roots.isEmpty { options.restoredPolicy = { [path] in try $0.policy(file: "\(path): dumps.yaml") } }
        let outcomes = try Import(into: transaction, from: source, options: options)
            .run(place, collections.names)
        let report = ImportReport(outcomes: outcomes)
        try result.print(report.text(.output), report)
        if report.status != .done { throw report.status.code }
    }
}

/// The format of an import, which determines whether the result is bundles or a source file.
enum ImportSource: ExpressibleByArgument, Hashable {
    case format(ImportFormat)
    case template
    case defaults

    init?(argument: String) {
        switch argument {
        case "firebase-template": self = .template
        case "defaults": self = .defaults
        default:
            guard let format = ImportFormat(rawValue: argument) else { return nil }
            self = .format(format)
        }
    }

    static var allValueStrings: [String] {
        ImportFormat.allCases.map(\.rawValue) + ["firebase-template", "defaults"]
    }
}

extension ImportCommand {
    private struct SourceReport: Encodable {
        let collection: CollectionID
        let source: String
        let records: Int
        let notes: [String]
    }

    /// Converts another system's export to a source file.
    private func importSource() throws {
        guard collections.names.isEmpty else {
            throw CommandFailure(
                .usage, "\(path): specify the collection of this file with --collection, not as an argument")
        }
        let id = try collection ?? CollectionID("main/remote-config")
        let made = try SourceImport(
            path, as: source == .template ? .template(skipping: skipUnsupported) : .defaults, of: id,
            into: SourceDirectory(sources.withoutTrailingSlashes))
        for note in made.notes { Console.error("note: \(Console.visible(note))") }
        try result.print(
            "\(id): \(Counted.text(made.records, "record")) in \(made.file); next: rsdump check, rsdump publish",
            SourceReport(collection: id, source: made.file, records: made.records, notes: made.notes))
    }
}
