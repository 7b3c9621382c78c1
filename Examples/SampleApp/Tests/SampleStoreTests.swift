import Foundation
import RemoteConfiguration
import RemoteSettingsTesting
import SampleAppLogic
import Testing

/// The logic of the sample app, with packaged data and no network, and with a server in memory.
@Suite(.serialized)
struct SampleStoreTests {
    @Test func theFirstLaunchShowsWhatIsPackagedWithoutANetwork() async throws {
        let store = SampleStore(storage: ":memory:", settings: try SampleStore.packagedSettings())
        #expect(store.title == "Markets")
        #expect(store.rows.map(\.name) == ["Austria", "France", "Germany", "Ivory Coast", "Netherlands"])
        let first = try #require(store.rows.first)
        let flag = try #require(await store.flag(of: first))
        #expect(flag.starts(with: [0x89, 0x50, 0x4e, 0x47]), "a PNG")
    }

    private func world() throws -> (TestService, SampleStore) {
        let test = try TestService()
        try test.collection("markets").attach(Data("flag".utf8), to: "be", of: ["name": "Belgium"])
        try test.collection("app-config").put(parameter: "title", "Countries")
        return (test, SampleStore(service: test.service))
    }

    @Test func aRefreshBringsRecordsPicturesAndParameters() async throws {
        let (_, store) = try world()
        #expect(store.rows.isEmpty && store.title == "Markets")
        #expect(await store.refresh() == nil)
        #expect(store.title == "Countries")
        #expect(store.rows.map(\.name) == ["Belgium"])
        let belgium = try #require(store.rows.first)
        #expect(await store.flag(of: belgium) == Data("flag".utf8))
    }

    @Test func aFlagThatIsSwitchedOffIsNotShown() async throws {
        let (test, store) = try world()
        try test.collection("app-config").put(parameter: "shows_flags", false)
        #expect(await store.refreshInBackground())
        #expect(store.rows.map(\.hasFlag) == [false])
    }

    @Test func withoutANetworkEverythingStays() async throws {
        let (test, store) = try world()
        #expect(await store.refresh() == nil)
        test.origin.setOffline(true)
        #expect(await store.refresh() == "You are offline.")
        #expect(store.rows.map(\.name) == ["Belgium"])
    }

    @Test func theStatusScreenShowsWhatIsServedAndTheLastError() async throws {
        let (test, store) = try world()
        #expect(store.served.allSatisfy { $0.records == "0 records, none yet" && $0.since == nil })
        #expect(await store.refresh() == nil)
        let markets = try #require(store.served.first { $0.id == "main/markets" })
        #expect(markets.records == "1 record, from the server" && markets.since != nil && markets.error == nil)
        try test.collection("markets").put("at", ["name": "Austria"])
        test.origin.setOffline(true)
        #expect(await store.refresh() != nil)
        #expect(store.served.first { $0.id == "main/markets" }?.records == "1 record, from the server")
        let json = try #require(JSONSerialization.jsonObject(with: store.report()) as? [String: Any])
        #expect(json["lastSuccess"] != nil && (json["collections"] as? [Any])?.count == store.served.count)
    }

    @Test func aPushMessageFetchesAndDraws() async throws {
        let (test, store) = try world()
        #expect(await store.refresh() == nil)
        var changes = store.changes.makeAsyncIterator()
        try test.collection("app-config").put(parameter: "title", "Lands")
        #expect(store.isAnnouncement(["CONFIG_STATE": "STALE"]))
        #expect(await store.refresh() == nil)
        await changes.next()
        #expect(store.title == "Lands")
        #expect(!store.isAnnouncement(["aps": ["alert": "Somebody else's"]]))
    }
}
