import ArgumentParser
import RemoteSettingsModel
import SnapshotBuilder
import SnapshotExchange

/// `rsdump export`
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write bundles in the form that another project keeps.",
        discussion: """
            Layouts:
            \(ExportLayout.allCases.map { "  \($0.rawValue): \($0.summary)" }.joined(separator: "\n"))

            Every byte of the bundles is checked against the lock first. The output appears complete or not at all, and \
            what is there already is replaced only with --force. The same bundles give the same output.

            What was exported to application-services, firefox, changesets, tar.zst or tar.xz comes back with \
            rsdump import. Only changesets and the archives keep signatures.

            Examples:
              rsdump export --to application-services --output components/remote_settings/dumps
              rsdump export --to tar.zst --output dumps.tar.zst
              rsdump export --to plist --output Defaults.plist --key id --value value main/settings
            """)

    @Argument(help: "Collections, as BUCKET/COLLECTION; all that the lock has if none is given.")
    var collections: [String] = []

    @OptionGroup var dumps: DumpsOptions

    @Option(name: .customLong("to"), help: ArgumentHelp("The form to write.", valueName: "layout"))
    var layout: ExportLayout

    @Option(name: .shortAndLong, help: ArgumentHelp("The directory or file to write.", valueName: "path"))
    var output: String

    @Option(help: ArgumentHelp("For plist, json and xml: the records' field with the key.", valueName: "field"))
    var key: String?

    @Option(help: ArgumentHelp("For plist, json and xml: the records' field with the value.", valueName: "field"))
    var value: String?

    @Flag(help: "Replace what is at the output.")
    var force = false

    @Option(help: "How to print the result: text or json.")
    var format = OutputFormat.text

    func validate() throws {
        _ = try collectionIDs(collections)
        if layout.defaults != nil {
            guard collections.count == 1, key != nil, value != nil else {
                throw ValidationError("--to \(layout.rawValue) needs one BUCKET/COLLECTION, --key and --value")
            }
        } else if key != nil || value != nil {
            throw ValidationError("--key and --value are for plist, json and xml, not for \(layout.rawValue)")
        }
        if output.isEmpty { throw ValidationError("--output is empty, expected a path") }
    }

    func run() async throws {
        try await running {
            var target = output[...]
            while target.count > 1, target.hasSuffix("/") { target = target.dropLast() }
            let fields = key.flatMap { key in value.map { DefaultsFields(key: key, value: $0) } }
            let report = try Export(dumps.directory, to: layout, fields: fields).write(
                try collectionIDs(collections), to: String(target), replacing: force)
            for note in report.notes { Console.error("rsdump: \(note)") }
            switch format {
            case .text:
                Console.print(
                    "\(target): \(report.collections.count) collections in \(report.files) files, \(report.bytes) bytes"
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

extension ExportLayout: ExpressibleByArgument {}
