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

            Example:
              rsdump export --to application-services --output components/remote_settings/dumps main/search-config-v2
            """)

    @Argument(help: "Collections, as BUCKET/COLLECTION; all that the lock has if none is given.")
    var collections: [String] = []

    @OptionGroup var dumps: DumpsOptions

    @Option(name: .customLong("to"), help: ArgumentHelp("The form to write.", valueName: "layout"))
    var layout: ExportLayout

    @Option(name: .shortAndLong, help: ArgumentHelp("The directory or file to write.", valueName: "path"))
    var output: String

    @Flag(help: "Replace what is at the output.")
    var force = false

    @Option(help: "How to print the result: text or json.")
    var format = OutputFormat.text

    func validate() throws {
        _ = try collectionIDs(collections)
        if output.isEmpty { throw ValidationError("--output is empty, expected a path") }
    }

    func run() async throws {
        try await running {
            var target = output[...]
            while target.count > 1, target.hasSuffix("/") { target = target.dropLast() }
            let report = try Export(dumps.directory, to: layout).write(
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
