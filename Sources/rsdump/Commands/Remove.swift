import ArgumentParser
import Dumps
import RemoteSettingsModel

/// `rsdump remove`
struct Remove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Take collections out of dumps.yaml, the lock and the directory; comments are kept.",
        discussion: """
            Examples:
              rsdump remove main/regions
              rsdump remove main/regions --keep-bundles
            """)

    @Argument(help: "Collections, as BUCKET/COLLECTION.")
    var collections: [String]

    @OptionGroup var dumps: DumpsOptions

    @Flag(help: "Leave the bundles and their lock entries where they are.")
    var keepBundles = false

    func validate() throws {
        _ = try collectionIDs(collections)
    }

    func run() async throws {
        try await running {
            let directory = dumps.directory
            guard let before = try directory.configurationText() else {
                throw CommandFailure(
                    .usage, "\(directory.configurationPath): there is no such file; nothing to remove from")
            }
            var editor = try ConfigurationEditor(before, file: directory.configurationPath)
            let ids = try collectionIDs(collections)
            let missing = try ids.filter { try !editor.remove($0) }
            guard missing.isEmpty else {
                let names = missing.map(\.description).joined(separator: ", ")
                throw CommandFailure(
                    .usage,
                    "\(directory.configurationPath): expected \(names), found no such collection; nothing was removed")
            }
            try directory.writeConfiguration(editor.text)
            if !keepBundles { try directory.removeBundles(ids) }
            for id in ids { Console.print("\(id): removed") }
        }
    }
}
