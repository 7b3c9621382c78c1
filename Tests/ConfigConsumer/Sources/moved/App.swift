import Common
import Foundation
import OlderBinding
import RemoteSettingsBlocking

@main
enum App {
    /// `moved STORAGE SERVER ROOT PACKAGED|-`
    static func main() async throws {
        let arguments = CommandLine.arguments
        for line in await mocked() { print(line) }
        var config = RemoteSettingsConfig2(
            server: .custom(url: arguments[2]), packaged: arguments[4] == "-" ? [] : [.directory(arguments[4])],
            trustRoots: try TrustAnchors(parsing: [arguments[3]]))
        config.log = NamesOfTheApp().config().log
        let profile = Profile(directory: arguments[1], config: config)
        let both = BothServices(service: profile.remoteSettingsService, older: OlderService())
        print("both: \(both.older.older()), \(both.service.clientUrl() == arguments[2])")

        let clients = AppCollection.allCases.map { $0.makeClient(both.service) }
        let coordinator = SyncCoordinator(service: both.service)
        let synced: [String]? = await withCheckedContinuation { continuation in
            coordinator.syncInBackground { continuation.resume(returning: $0) }
        }
        print("synced: \(synced ?? ["nothing"])")
        let fetcher: RegionFetching = RegionFetcher(regions: clients[0], icons: clients[1])
        print("regions: \(await fetcher.fetchRegions().filter { $0.drivesOnThe == "left" }.map(\.code))")
        print("icons: \(await fetcher.prefetchIcons())")
        print("icon: \(await fetcher.fetchIcon(named: "petals-05")?.count ?? 0)")
        print("reported: \(Set(profile.telemetry.reported).sorted())")
        if synced != nil { print("newest: \(try await newest(of: both.service.asynchronous) != nil)") }
    }
}
