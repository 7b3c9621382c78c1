import ArgumentParser
import DumpsRefresh
import RemoteSettingsModel

/// `rsdump unpin`
struct UnpinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unpin",
        abstract: "Let collections follow the server again; comments in dumps.yaml are kept.",
        discussion: """
            The bundles stay as they are until the next rsdump refresh.

            Example:
              rsdump unpin main/regions
            """)

    @Argument(help: "Collections, as BUCKET/COLLECTION.")
    var collections: [String]

    @OptionGroup var dumps: DumpsOptions

    func validate() throws {
        _ = try collectionIDs(collections)
    }

    func run() async throws {
        try await running {
            for (id, pin) in try Pinning.unpin(try collectionIDs(collections), in: dumps.directory) {
                Console.print(
                    pin.map { "\(id): no longer pinned at \($0.at); rsdump refresh takes it to the server's state" }
                        ?? "\(id): is not pinned")
            }
        }
    }
}
