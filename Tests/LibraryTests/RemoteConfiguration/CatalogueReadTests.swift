import Foundation
import RemoteConfiguration
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing

/// Remote config when the service reads catalogues: what is activated is the state that the catalogue lists.
struct CatalogueReadTests {
    let place: ConfigPlace

    init() throws {
        place = try ConfigPlace()
        try place.put("a", 1)
        try place.server.publishCatalogue(as: "shop")
    }

    /// Parameters of the staging server under the same root, with a later timestamp.
    private func staging() throws -> OriginTransport {
        let server = try OriginTransport()
        let now = UInt64(Date().timeIntervalSince1970 * 1000)
        try server.makeCollection(id: place.collection.id)
            .put("a", ["key": "a", "value": 666, "last_modified": now])
        try server.publishCatalogue(as: "shop-staging", number: 70)
        return server
    }

    /// One lie, told before the app named its publisher, stayed for as long as the true state was older. The catalogue
    /// undoes it.
    @Test func theCatalogueTakesThePlaceOfALaterStateThatItDoesNotList() async throws {
        let staging = try staging()
        let lied = place.start { $0.transport = staging }
        try await lied.fetchAndActivate()
        let honest = place.start()
        try await honest.fetchAndActivate()
        #expect(honest["a"].numberValue == 666)
        let config = place.start { $0.publisher = "shop" }
        try await config.fetchAndActivate()
        #expect(config["a"].numberValue == 1)
        #expect(place.start { $0.publisher = "shop" }["a"].numberValue == 1, "after a restart")
        try place.put("a", 2)
        try place.server.publishCatalogue(as: "shop")
        #expect(try await config.fetchAndActivate() == .successFetchedFromRemote)
        #expect(config["a"].numberValue == 2)
    }
}
