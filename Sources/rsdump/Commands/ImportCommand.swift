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
        abstract: "Take collections from elsewhere than a server: Firefox, application-services, archives, changesets.",
        discussion: """
            Formats:
            \(ImportFormat.allCases.map { "  \($0.rawValue): \($0.summary)" }.joined(separator: "\n"))

            Archives may be ZIP, tar, 7z or ar, compressed by gzip, xz or zstd. Attachments are checked against their \
            records. What is signed and comes with its chain is verified; everything else becomes "imported" in bundle \
            and lock, for as long as no refresh brings the signed state. What is held already is replaced by nothing \
            older, and what is signed by nothing unsigned. The collections are named in dumps.yaml, which is made where \
            there is none.

            Examples:
              rsdump import --from firefox \\
                /usr/lib/firefox-esr/browser/omni.ja main/password-rules
              rsdump import --from application-services components/remote_settings/dumps
              rsdump import --from changeset changesets.json.mozlz4 --dumps dumps
              rsdump import --from dumps dumps.tar.zst --dumps /srv/dumps

            Exits with 1 where a collection was refused, and with 3 where the only reason is a hash or a signature.
            """)

    @Argument(help: "The directory, archive or file to import.")
    var path: String

    @Argument(help: "Collections, as BUCKET/COLLECTION; all that are there if none is given.")
    var collections: [String] = []

    @Option(name: .customLong("from"), help: ArgumentHelp("What it is.", valueName: "format"))
    var source: ImportFormat

    @OptionGroup var dumps: DumpsOptions
    @OptionGroup var server: ServerOptions

    @Option(
        name: .customLong("chain"), parsing: .singleValue,
        help: ArgumentHelp("A PEM chain to verify signatures with; may be repeated.", valueName: "file"))
    var chains: [String] = []

    @Option(
        name: .customLong("verify-at"),
        help: ArgumentHelp("Verify chains at this time, as 2026-11-21 or RFC 3339; else now.", valueName: "date"))
    var time: String?

    @Option(
        name: .customLong("collection"),
        help: ArgumentHelp("The collection of a file that does not name it.", valueName: "bucket/collection"))
    var collection: String?

    @Option(help: "How to print the result: text or json.")
    var format = OutputFormat.text

    func validate() throws {
        _ = try collectionIDs(collections + (collection.map { [$0] } ?? []))
        if let time, Timestamp(rfc3339: time) == nil {
            throw ValidationError("--verify-at is \(time), expected a date such as 2026-11-21 or 2026-11-21T08:00:00Z")
        }
    }

    func run() async throws {
        try await running {
            let opened = try OpenDumps(dumps, collections, isConfigured: false, applying: server.applied)
            var options = Import.Options(
                time: time.flatMap(Timestamp.init(rfc3339:)) ?? HTTPEnvironment.system.now())
            options.policy = opened.policy
            options.chains = chains
            options.collection = try collection.map { try CollectionID($0) }
            let outcomes = try Import(into: opened.directory, from: source, options: options).run(path, opened.names)
            try name(outcomes.filter(\.isTaken).map(\.id), in: opened.directory)
            let report = ImportReport(outcomes: outcomes)
            switch format {
            case .text: Console.print(report.text(Style(isColored: Console.outputIsColored)))
            case .json: Console.print(json: report.json)
            }
            if report.status != .done { throw report.status.code }
        }
    }

    /// Puts what was taken into dumps.yaml, so that a refresh knows it.
    private func name(_ ids: [CollectionID], in directory: DumpsDirectory) throws {
        guard !ids.isEmpty else { return }
        let before = try directory.configurationText()
        var editor = try ConfigurationEditor(before, file: directory.configurationPath)
        if before == nil, let server = server.server { try editor.setServer(server) }
        if before == nil {
            for root in try TrustAnchors(parsing: server.trust.roots).roots { try editor.addRoot(root) }
        }
        for id in ids { _ = try editor.add(id, attachments: nil) }
        if editor.text != before { try directory.writeConfiguration(editor.text) }
    }
}

extension ImportFormat: ExpressibleByArgument {}

extension Import.Outcome {
    fileprivate var isTaken: Bool { (try? result.get()) != nil }
}
