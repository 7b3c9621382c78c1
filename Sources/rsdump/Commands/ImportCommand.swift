import ArgumentParser
import ContentSignature
import Dumps
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotExchange

/// `rsdump import`
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import collections from Firefox, application-services, archives or saved changesets.",
        discussion: """
            Formats:
            \(ImportFormat.allCases.map { "  \($0.rawValue): \($0.summary)" }.joined(separator: "\n"))

            Archives may be ZIP, tar, 7z or ar, compressed with gzip, xz or zstd. Attachments are checked against their \
            records. A collection that is signed and comes with its certificate chain is verified; any other is marked \
            "imported" in bundle and lock until a refresh fetches the signed state. A bundle is never replaced by an older \
            state, and a signed one never by one that is not. The collections are added to dumps.yaml, which is created if \
            there is none.

            Examples:
              rsdump import --from firefox \\
                /usr/lib/firefox-esr/browser/omni.ja main/password-rules
              rsdump import --from application-services components/remote_settings/dumps
              rsdump import --from changeset changesets.json.mozlz4 --dumps dumps
              rsdump import --from dumps dumps.tar.zst --dumps /srv/dumps

            Exits with 1 if a collection was refused, and with 3 if hashes or signatures were the only reasons.
            """)

    @Argument(help: "The directory, archive or file to import.")
    var path: String

    @Argument(
        help: "Collections, as BUCKET/COLLECTION; all that the source has if none is given.", transform: collectionID)
    var collections: [CollectionID] = []

    @Option(name: .customLong("from"), help: ArgumentHelp("The format of the source.", valueName: "format"))
    var source: ImportFormat

    @OptionGroup var dumps: DumpsOptions
    @OptionGroup var server: ServerOptions

    @Option(
        name: .customLong("chain"), parsing: .singleValue,
        help: ArgumentHelp("A PEM chain to verify signatures with; may be repeated.", valueName: "file"))
    var chains: [String] = []

    @Option(
        name: .customLong("verify-at"),
        help: ArgumentHelp("Verify chains at this time (2026-11-21 or RFC 3339) instead of now.", valueName: "date"))
    var time: String?

    @Option(
        name: .customLong("collection"),
        help: ArgumentHelp("The collection of a file that does not name it.", valueName: "bucket/collection"),
        transform: collectionID)
    var collection: CollectionID?

    @Option(help: "How to print the result: text or json.")
    var format = OutputFormat.text

    func validate() throws {
        if let time, Timestamp(rfc3339: time) == nil {
            throw ValidationError("--verify-at is \(time), expected a date such as 2026-11-21 or 2026-11-21T08:00:00Z")
        }
    }

    func run() async throws {
        let opened = try OpenDumps(dumps, isConfigured: false, applying: server.applied)
        var options = Import.Options(
            time: time.flatMap(Timestamp.init(rfc3339:)) ?? HTTPEnvironment.system.now())
        options.policy = opened.policy
        options.chains = chains
        options.collection = collection
        options.server = server.server
        options.roots = try TrustAnchors(parsing: server.trust.roots).roots
        let outcomes = try Import(into: opened.directory, from: source, options: options).run(path, collections)
        let report = ImportReport(outcomes: outcomes)
        format.print(report.text(.output), report.json)
        if report.status != .done { throw report.status.code }
    }
}

extension ImportFormat: ExpressibleByArgument {}
