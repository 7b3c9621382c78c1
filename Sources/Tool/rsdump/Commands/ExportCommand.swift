import ArgumentParser
import Dumps
import DumpsExchange
import RemoteSettingsModel
import SnapshotBundle
import SnapshotOrigin

/// `rsdump export`
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Export bundles to another project's layout, an archive, app defaults or a static mirror.",
        usage: "rsdump export [<collections> ...] --to <layout> --output <path> [<options>]",
        discussion: """
            The layouts:
              application-services  a checkout of application-services
              firefox               a checkout of Firefox
              changesets            the responses of a server
              files                 a JSON file for each record, and its attachments
              tar.zst               the dumps directory in one archive
              plist, json, swift    parameters as the defaults of an app
              mirror                a static mirror; only this one takes --on-change

            Exits with 3 if a bundle is not intact.
              rsdump export main/app-config --to plist --output Defaults.plist
            For details, see Exchange.md in share/doc/rsdump.
            """)

    @OptionGroup var collections: CollectionNames

    @OptionGroup var dumps: ReadDumpsOptions

    @Option(name: .customLong("to"), help: ArgumentHelp("The layout to write.", valueName: "layout"))
    var form: ExportForm

    @Option(name: .shortAndLong, help: ArgumentHelp("The directory or file to write.", valueName: "path"))
    var output: String

    @Option(
        help: ArgumentHelp(
            "The field with the key (plist, json) or the attachment file name (files).", valueName: "field"))
    var key: String?

    @Option(help: ArgumentHelp("The field with the value (plist, json).", valueName: "field"))
    var value: String?

    @Flag(help: "Replace an existing --output, if it is a file or rsdump created it.")
    var force = false

    @Flag(help: ArgumentHelp("Replace only these collections in an existing --output directory."))
    var update = false

    @Option(help: ArgumentHelp("For mirror: the URL at which clients reach it.", valueName: "url"))
    var url: String?

    @OptionGroup var older: HistoryOption
    private var history: [String] { older.places }

    @OptionGroup var onChange: OnChangeOptions

    @OptionGroup var result: FormatOption<OutputFormat>

    func validate() throws {
        if output.isEmpty { throw ValidationError("--output is empty; give a path") }
        switch form {
        case .mirror:
            guard let url else {
                throw ValidationError("--to mirror requires --url, the URL at which clients reach it")
            }
            do { _ = try OriginAddress(url) } catch { throw ValidationError("--url: \(error)") }
            if key != nil || value != nil {
                throw ValidationError("--key and --value cannot be combined with --to mirror")
            }
            if update || force {
                throw ValidationError(
                    "--update and --force cannot be combined with --to mirror; a mirror is always updated")
            }
        case .layout(let layout):
            if url != nil || !history.isEmpty {
                throw ValidationError("--url and --history require --to mirror")
            }
            if !onChange.commands.isEmpty { throw ValidationError("--on-change requires --to mirror") }
            if update, !layout.isUpdatable {
                throw ValidationError("--update requires --to firefox, --to application-services or --to files")
            }
            if update, force { throw ValidationError("--update cannot be combined with --force") }
            if layout.hasFields {
                if (key == nil) != (value == nil) { throw ValidationError("--key and --value must be given together") }
            } else if value != nil || key != nil && layout != .files {
                throw ValidationError("--key and --value require --to plist or --to json")
            }
        }
    }

    mutating func run() async throws {
        let commit = try await dumps.checkOutCommit()
        defer { withExtendedLifetime(commit) {} }
        if collections.names.isEmpty { try dumps.warnOfMissing() }
        let target = output.withoutTrailingSlashes
        switch form {
        case .layout(let layout): try export(to: target, layout)
        case .mirror: try await publish(to: target)
        }
    }

    private struct Report: Encodable {
        let output: String
        let layout: String
        let files: Int
        let bytes: Int
        let notes: [String]
        var collections: [CollectionID]?
        var tree: String?
        var unchanged: Bool?
        var hooks: [ChangeHooks.Outcome]?
    }

    private func export(to target: String, _ layout: ExportLayout) throws {
        let fields = key.flatMap { key in value.map { DefaultsFields(key: key, value: $0) } }
        let report = try Export(dumps.directory, to: layout, fields: fields, nameField: key).write(
            collections.names, to: target, existing: update ? .update : force ? .replace : .keep)
        for note in report.notes { Console.error("rsdump: \(Console.visible(note))") }
        let (names, files) = (Counted.text(report.collections.count, "collection"), Counted.text(report.files, "file"))
        try result.print(
            "\(target): \(names) in \(files), \(Counted.text(report.bytes, "byte"))",
            Report(
                output: target, layout: layout.rawValue, files: report.files, bytes: report.bytes,
                notes: report.notes, collections: report.collections))
    }

    private func publish(to folder: String) async throws {
        let directory = dumps.directory
        let older = try await olderBundles(of: directory, in: history)
        let address = try OriginAddress(url ?? "")
        let target = try FileStore.absolute(folder)
        let (report, told) = try await onChange.telling(
            ofMirror: target, state: { try StaticMirror.published(in: target, address: address) }
        ) {
            try await StaticMirror.publish(
                collections.names, of: directory, to: target, address: address, history: older,
                softwareVersion: RSDump.version)
        }
        for note in report.notes { Console.error("rsdump: \(Console.visible(note))") }
        let (files, size) = (Counted.text(report.objects, "file"), ByteSize.text(UInt64(clamping: report.bytes)))
        try result.print(
            "\(folder): \(files), \(size), in \(report.tree)" + (report.isUnchanged ? ", unchanged" : "")
                + HooksReport.text(told),
            Report(
                output: folder, layout: "mirror", files: report.objects, bytes: report.bytes, notes: report.notes,
                tree: report.tree, unchanged: report.isUnchanged, hooks: told.isEmpty ? nil : told))
    }
}

/// A format for `--to`.
enum ExportForm: ExpressibleByArgument, Equatable {
    case layout(ExportLayout)
    case mirror

    init?(argument: String) {
        if argument == "mirror" {
            self = .mirror
        } else if let layout = ExportLayout(rawValue: argument) {
            self = .layout(layout)
        } else {
            return nil
        }
    }

    static var allValueStrings: [String] { ExportLayout.allCases.map(\.rawValue) + ["mirror"] }
}
