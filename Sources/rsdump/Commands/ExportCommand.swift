import ArgumentParser
import RemoteSettingsModel
import SnapshotExchange
import SnapshotHistory
import SnapshotOrigin
import StaticMirror

/// `rsdump export`
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write bundles in the form that another project keeps.",
        discussion: """
            Layouts:
            \(ExportLayout.allCases.map { "  \($0.rawValue): \($0.summary)" }.joined(separator: "\n"))
              mirror: plain files that nginx, an object store or a CDN serves as an origin

            Every byte of the bundles is checked against the lock first. The output appears complete or not at all, and \
            what is there already is replaced only with --force. The same bundles give the same output.

            With --update, the firefox and application-services layouts are written into the tree that such a project \
            keeps: other collections and other files in it stay. Of the exported collections, attachments that no record has \
            any more go. Firefox's last_modified.json keeps its other entries, and gets none for a collection that the tree \
            has without listing it.

            What was exported to application-services, firefox, changesets, tar.zst or tar.xz comes back with \
            rsdump import. Only changesets and the archives keep signatures.

            A mirror is published into --output without --force, again and again: a new tree of files is written beside the \
            present one, and the link "current" is then replaced in one step. nginx.conf in the output serves it, and \
            objects.json in the tree tells an upload to an object store each file's path, type and caching. --url says \
            where clients reach it. With --history, a client that asks what changed since an older bundle gets just that; \
            others get the whole collection.

            Examples:
              rsdump export --to application-services --update \\
                --output components/remote_settings/dumps
              rsdump export --to tar.zst --output dumps.tar.zst
              rsdump export --to plist --output Defaults.plist \\
                --key id --value value main/settings
              rsdump export --to mirror --output /srv/mirror --history git \\
                --url https://settings.example.org
            """)

    @Argument(help: "Collections, as BUCKET/COLLECTION; all that the lock has if none is given.")
    var collections: [String] = []

    @OptionGroup var dumps: DumpsOptions

    @Option(name: .customLong("to"), help: ArgumentHelp("The form to write.", valueName: "layout"))
    var form: ExportForm

    @Option(name: .shortAndLong, help: ArgumentHelp("The directory or file to write.", valueName: "path"))
    var output: String

    @Option(help: ArgumentHelp("For plist, json and xml: the records' field with the key.", valueName: "field"))
    var key: String?

    @Option(help: ArgumentHelp("For plist, json and xml: the records' field with the value.", valueName: "field"))
    var value: String?

    @Flag(help: "Replace what is at the output.")
    var force = false

    @Flag(
        help: ArgumentHelp(
            "For firefox and application-services: change these collections in the tree that is there, and leave the rest."
        ))
    var update = false

    @Option(
        help: ArgumentHelp(
            "For a mirror: where clients reach it, such as https://settings.example.org.", valueName: "url"))
    var url: String?

    @Option(
        parsing: .singleValue,
        help: ArgumentHelp(
            "For a mirror: where older bundles are, git for the dumps directory's own history, or a folder; may be repeated.",
            valueName: "git|dir"))
    var history: [String] = []

    @Option(help: "How to print the result: text or json.")
    var format = OutputFormat.text

    func validate() throws {
        _ = try collectionIDs(collections)
        if output.isEmpty { throw ValidationError("--output is empty, expected a path") }
        switch form {
        case .mirror:
            guard let url else { throw ValidationError("--to mirror needs --url, the address where clients reach it") }
            do { _ = try OriginAddress(url) } catch { throw ValidationError("--url: \(error)") }
            if key != nil || value != nil { throw ValidationError("--key and --value are not for mirror") }
            if update { throw ValidationError("--update is not for mirror, which is published again as it is") }
        case .layout(let layout):
            if url != nil || !history.isEmpty { throw ValidationError("--url and --history go with --to mirror") }
            if update, !layout.isUpdatable {
                throw ValidationError("--update is for firefox and application-services, not for \(layout.rawValue)")
            }
            if update, force { throw ValidationError("--update and --force exclude each other") }
            if layout.defaults != nil {
                guard collections.count == 1, key != nil, value != nil else {
                    throw ValidationError("--to \(layout.rawValue) needs one BUCKET/COLLECTION, --key and --value")
                }
            } else if key != nil || value != nil {
                throw ValidationError("--key and --value are for plist, json and xml, not for \(layout.rawValue)")
            }
        }
    }

    func run() async throws {
        try await running {
            var target = output[...]
            while target.count > 1, target.hasSuffix("/") { target = target.dropLast() }
            guard case .layout(let layout) = form else { return try await publish(to: String(target)) }
            let fields = key.flatMap { key in value.map { DefaultsFields(key: key, value: $0) } }
            let report = try Export(dumps.directory, to: layout, fields: fields).write(
                try collectionIDs(collections),
                to: ExportTarget(String(target), existing: update ? .update : force ? .replace : .keep))
            for note in report.notes { Console.error("rsdump: \(Console.visible(note))") }
            switch format {
            case .text:
                Console.print(
                    "\(target): \(Counted.text(report.collections.count, "collection")) in \(Counted.text(report.files, "file")), \(Counted.text(report.bytes, "byte"))"
                )
            case .json:
                Console.print(
                    json: .members([
                        "output": .string(String(target)), "layout": .string(layout.rawValue),
                        "collections": .array(report.collections.map { .string("\($0)") }),
                        "files": .count(report.files), "bytes": .count(report.bytes),
                        "notes": .array(report.notes.map(JSONValue.string)),
                    ]))
            }
        }
    }
}

extension ExportCommand {
    private func publish(to folder: String) async throws {
        let directory = dumps.directory
        let older = history.isEmpty ? nil : try await BundleHistory(of: directory.path, in: history)
        let report = try await StaticMirror.publish(
            try collectionIDs(collections), of: directory, to: TextFile.absolute(folder),
            address: try OriginAddress(url ?? ""), history: older, softwareVersion: Version.text)
        for note in report.notes { Console.error("rsdump: \(Console.visible(note))") }
        switch format {
        case .text:
            Console.print(
                "\(folder): \(Counted.text(report.objects, "file")), \(ByteSize.text(UInt64(clamping: report.bytes))), in \(report.tree)"
                    + (report.isUnchanged ? ", as before" : ""))
        case .json:
            Console.print(
                json: .members([
                    "output": .string(folder), "layout": .string("mirror"), "tree": .string(report.tree),
                    "unchanged": .bool(report.isUnchanged), "files": .count(report.objects),
                    "bytes": .count(report.bytes), "notes": .array(report.notes.map(JSONValue.string)),
                ]))
        }
    }
}

/// What `--to` takes.
enum ExportForm: ExpressibleByArgument {
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
