import Foundation
import RemoteSettingsTesting
import TestedApp
import Testing

@Suite struct MarketListTests {
    let test: TestService
    let markets: ServerCollection

    init() throws {
        test = try TestService()
        markets = try test.collection("markets")
        try markets.put("de", ["name": "Germany"])
        try markets.put("fr", ["name": "France"])
    }

    private func app(_ config: TestRemoteConfig = TestRemoteConfig()) -> MarketList {
        MarketList(service: test.service, config: config)
    }

    @Test func theListIsSorted() async {
        let app = app()
        #expect(app.lines == ["No markets yet"])
        #expect(await app.refresh() == nil)
        #expect(app.lines == ["France", "Germany"])
    }

    @Test func theFirstLaunchIsOffline() async throws {
        let packaged = try test.origin.packaged(markets)
        test.origin.setOffline(true)
        let test = TestService(test.origin) { $0.packaged = [packaged] }
        let app = MarketList(service: test.service, config: TestRemoteConfig())
        #expect(app.lines == ["France", "Germany"])
        #expect(await app.refresh() == "You are offline.")
        #expect(app.lines == ["France", "Germany"])
    }

    @Test func aServerThatFailsIsNoNetworkThatFails() async {
        test.origin.inject([Fault("markets", effect: .status(500))])
        #expect(await app().refresh() == "The markets could not be updated.")
    }

    @Test func onlyWhatIsMissingIsFetched() async throws {
        let app = app()
        let client = test.service.makeClient(collectionName: "markets")
        try await test.origin.expectRequests(1, to: "markets/changeset") { _ = await app.refresh() }
        try await test.origin.expectRequests(0, to: "markets/changeset") { _ = await app.refresh() }
        let change = try await client.expectChange {
            try markets.put("it", ["name": "Italy"])
            markets.delete("fr")
            _ = await app.refresh()
        }
        #expect(change.created.map(\.id) == ["it"] && change.deleted.map(\.id) == ["fr"])
        try client.expectRecords(["de", "it"])
        try client.expectRecord("it", ["name": .string("Italy")])
    }

    @Test func flagsAreAttachments() async throws {
        try markets.attach(Data("🇩🇪".utf8), to: "de")
        let app = app()
        _ = await app.refresh()
        #expect(await app.flag(of: "de") == Data("🇩🇪".utf8))
        #expect(await app.flag(of: "fr") == nil)
    }

    @Test func theTitleIsConfigured() {
        let config = TestRemoteConfig(defaults: ["title": "All markets"])
        let app = app(config)
        #expect(app.title == "All markets")
        config.set("Where to?", forKey: "title")
        #expect(app.title == "Where to?")
    }

    @Test func theTitleComesFromTheServer() async throws {
        let config = test.remoteConfig()
        try test.collection("config").put(parameter: "title", "Published")
        let app = MarketList(service: test.service, config: config)
        #expect(app.title == "Markets")
        try await config.fetchAndActivate()
        #expect(app.title == "Published")
    }

    /// An update reaches a list on the screen, after at most the three seconds that an app waits.
    @Test func whatIsPublishedIsShownAtOnce() async throws {
        let (time, updates) = (SteppedTime(), ScriptedUpdates())
        let test = TestService(test.origin, time: time, updates: updates)
        let app = MarketList(service: test.service, config: TestRemoteConfig())
        var shown = app.updates.makeAsyncIterator()
        try await expectSoon("the channel is open") { updates.open == 1 }
        try markets.put("it", ["name": "Italy"])
        updates.announce(try markets.timestamp())
        await time.pass(.seconds(3))
        #expect(await shown.next() == ["France", "Germany", "Italy"])
    }
}
