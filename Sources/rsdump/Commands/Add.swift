import ArgumentParser
import ContentSignature
import Dumps
import RemoteSettingsModel

/// `rsdump add`
struct Add: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Name collections in dumps.yaml; comments in it are kept.",
        discussion: """
            Makes dumps.yaml where there is none. --server and --trust-root set the server of the whole file. Nothing is \
            downloaded: rsdump refresh does that.

            Examples:
              rsdump add main/regions main/search-config-v2
              rsdump add security-state/onecrl --attachments none
              rsdump add main/regions --server stage --dumps dumps-stage
            """)

    @Argument(help: "Collections, as BUCKET/COLLECTION.")
    var collections: [String]

    @OptionGroup var dumps: DumpsOptions
    @OptionGroup var server: ServerOptions

    @Option(help: ArgumentHelp("Which attachments to keep: all or none.", valueName: "all|none"))
    var attachments: Selection?

    enum Selection: String, ExpressibleByArgument, CaseIterable {
        case all
        case none
    }

    func validate() throws {
        _ = try collectionIDs(collections)
    }

    func run() async throws {
        try await running {
            let directory = dumps.directory
            let before = try directory.configurationText()
            var editor = try ConfigurationEditor(before, file: directory.configurationPath)
            if let server = server.server { try editor.setServer(server) }
            for root in try TrustAnchors(parsing: server.trust.roots).roots { try editor.addRoot(root) }
            var lines: [String] = []
            for id in try collectionIDs(collections) {
                let isNew = try editor.add(id, attachments: attachments?.rawValue)
                lines.append(isNew ? "\(id): added" : "\(id): is there already; its settings stay as they are")
            }
            let configuration = try ConfigurationReader.read(editor.text, file: directory.configurationPath)
            _ = try configuration.serverURL()
            if editor.text != before { try directory.writeConfiguration(editor.text) }
            for line in lines { Console.print(line) }
            Console.print(
                "\(directory.configurationPath): \(Counted.text(configuration.collections.count, "collection")) of \(configuration.server)"
            )
        }
    }
}
