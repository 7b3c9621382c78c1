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
              rsdump remove main/markets
            """)

    @OptionGroup var collections: SomeCollections

    @OptionGroup var dumps: DumpsOptions

    func run() async throws {
        try await dumps.directory.removeCollections(collections.names)
        for id in collections.names { Console.print("\(id): removed") }
    }
}
