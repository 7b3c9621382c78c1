import ArgumentParser
import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// `rsdump inspect`
struct Inspect: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "Tell what a bundle holds.",
        discussion: """
            Reads the bundle's manifest. Nothing is verified: rsdump verify does that.

            Examples:
              rsdump inspect main/regions
              rsdump inspect old/regions.zip --attachments --format json
            """)

    @OptionGroup var argument: BundleArgument

    @Flag(help: "List the attachments too.")
    var attachments = false

    @Option(help: "How to print the result: text or json.")
    var format = OutputFormat.text

    func run() async throws {
        try await running {
            let bundle = try argument.open()
            let report = InspectReport(
                manifest: try bundle.manifest(), content: Manifest.digest(of: try bundle.manifestText()),
                name: bundle.name,
                listsAttachments: attachments)
            switch format {
            case .text: Console.print(report.text)
            case .json: Console.print(json: report.json)
            }
        }
    }
}
