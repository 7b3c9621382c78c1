import ArgumentParser
import Dumps
import RemoteSettingsModel

/// `rsdump guards`
struct GuardsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "guards",
        abstract: "Show the guards of each collection, or suggest some from its history.",
        discussion: """
            Guards are conditions in dumps.yaml. refresh and publish take a collection's new state only if it fulfils \
            them, or with --accept.

            With --suggest, the states in git's commits of the dumps directory are compared, at most the newest 100 of \
            each collection. The suggested guards would have let all of them pass, with room for twice the largest \
            change. Nothing is written: copy what you want into dumps.yaml.

            Examples:
              rsdump guards
              rsdump guards --suggest main/regions
            """)

    @Argument(
        help: "Collections, as BUCKET/COLLECTION; all in dumps.yaml by default.", transform: collectionID)
    var collections: [CollectionID] = []

    @OptionGroup var dumps: DumpsOptions

    @Flag(help: "Suggest guards from the states in git's commits.")
    var suggest = false

    func run() async throws {
        let opened = try OpenDumps(dumps)
        let names = Set(collections)
        let unknown = collections.filter { name in !opened.configuration.collections.contains { $0.id == name } }
        guard unknown.isEmpty else { throw DumpsError.notConfigured(unknown, opened.directory.configurationPath) }
        let settings = opened.configuration.collections.filter { names.isEmpty || names.contains($0.id) }
        guard suggest else {
            for collection in settings { Console.print("\(collection.id)  \(GuardsText.words(collection.guards))") }
            return
        }
        let history = try await GuardHistory(opened.directory, limits: opened.limits)
        Console.print("collections:")
        for collection in settings {
            for line in GuardsText.lines(collection.id, try await history.suggestion(for: collection.id)) {
                Console.print(line)
            }
        }
    }
}
