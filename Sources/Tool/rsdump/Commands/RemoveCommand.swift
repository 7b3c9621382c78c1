import ArgumentParser
import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// `rsdump remove`
struct RemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove collections from dumps.yaml, the lock file and the directory.",
        discussion: """
            Examples:
              rsdump remove main/regions
            """)

    @OptionGroup var collections: SomeCollections

    @OptionGroup var dumps: DumpsOptions

    func run() async throws {
        try await dumps.directory.removeCollections(collections.names)
        for id in collections.names { Console.print("\(id): removed") }
        let catalogue = Catalogue.collection
        guard !collections.names.contains(catalogue),
            try dumps.directory.configurationOrDefault().catalogue != nil,
            try dumps.directory.lockFile(limits: Limits()).collections[catalogue] != nil
        else { return }
        Console.print("the catalogue still lists them until rsdump publish is run on the publishing machine")
    }
}
