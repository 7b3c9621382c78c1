import ArgumentParser
import RemoteSettings
import RemoteSettingsModel

/// `rsdump sync`
struct Sync: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Sync collections into a storage directory, as an app does.",
        discussion: """
            Asks the server for what is newer than the stored or packaged state, verifies the merged result, and \
            stores it. If it cannot be verified, nothing is stored and the current state is kept.

            Example:
              rsdump sync main/regions --storage /tmp/app --packaged dumps
            """)

    @Argument(help: "Collections, as BUCKET/COLLECTION.", transform: collectionID)
    var collections: [CollectionID]

    @OptionGroup var options: ClientOptions

    func run() async throws {
        let service = try options.service()
        let clients = collections.map { service.makeClient(collectionName: "\($0)") }
        let results: [CollectionSyncResult]
        do throws(RemoteSettingsError) {
            results = try await service.syncCollections()
        } catch {
            throw CommandFailure(error, service.clientUrl())
        }
        if let catalogue = service.catalogue { Console.print(CatalogueText.sentence(catalogue, .output)) }
        var failures: [CommandFailure] = []
        for result in results {
            switch result.result {
            case .success(.updated(let timestamp)):
                Console.print("\(result.collection)  updated, \(timestamp.rfc3339)")
            case .success(.upToDate(let timestamp)):
                Console.print("\(result.collection)  up to date, \(timestamp.rfc3339)")
            case .failure(let error):
                let failure = CommandFailure(error, result.collection)
                Console.error(failure)
                failures.append(failure)
            }
        }
        withExtendedLifetime(clients) {}
        guard let first = failures.first else { return }
        // As in a refresh: if the server asks to wait, that explains the failures, even if other collections were
        // synced.
        let isAlike =
            failures.allSatisfy { $0.status == first.status }
            && (failures.count == results.count || first.status == .backoff)
        throw (isAlike ? first.status : .someFailed).code
    }
}
