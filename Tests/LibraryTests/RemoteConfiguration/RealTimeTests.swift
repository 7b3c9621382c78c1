import Foundation
import RemoteConfiguration
@testable import RemoteSettingsHTTP
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing

/// Listeners are notified of published changes without a fetch by the app.
@Suite(.timeLimit(.minutes(10)))
struct RealTimeTests {
    let place: ConfigPlace
    let time = SteppedTime(chance: 0.5)
    let source = ScriptedUpdates()

    init() throws {
        place = try ConfigPlace()
        try place.put(all: ["a": 1, "b": 1, "c": 1])
    }

    private func start() -> RemoteConfig {
        place.start(interval: 43_200) { config in
            config.environment = time.environment
            config.updates = .init(source: source)
        }
    }

    @Test func updateListenerHearsPublishedKeys() async throws {
        let config = start()
        try await config.fetchAndActivate()
        #expect(source.connects == 0)
        let updates = Collector<Set<String>>()
        let registration = config.addOnConfigUpdateListener { update, error in
            #expect(error == nil)
            if let update { updates.add(update.updatedKeys) }
        }
        let second = config.addOnConfigUpdateListener { _, _ in }
        await time.settle()
        #expect(source.open == 1)
        source.announce(try place.server.monitorTimestamp())
        try place.put("a", 2)
        place.collection.delete("b")
        try place.put("d", 1)
        source.announce(try place.server.monitorTimestamp(), [place.collection.collection])
        await time.pass(.seconds(4))
        try await updates.has(1)
        #expect(updates.all == [["a", "b", "d"]])
        // Updates are not activated automatically.
        #expect(config["a"].stringValue == "1")
        try await config.activate()
        #expect(config["a"].stringValue == "2" && config["b"].source != .remote)
        registration.remove()
        await time.settle()
        #expect(source.open == 1)
        second.remove()
        await time.settle()
        #expect(source.open == 0)
        // The stream of updates counts as a listener.
        let task = Task { for try await _ in config.configUpdates {} }
        await time.settle()
        #expect(source.open == 1 && source.most == 1)
        task.cancel()
        await time.settle()
        #expect(source.open == 0)
    }

    /// Collects the errors that a listener and a stream of updates receive.
    private func listen(
        _ config: RemoteConfig
    ) -> (listener: Collector<RemoteConfigUpdateError>, stream: Task<RemoteConfigUpdateError?, any Error>) {
        let errors = Collector<RemoteConfigUpdateError>()
        config.addOnConfigUpdateListener { update, error in
            guard let error = error as? RemoteConfigUpdateError else {
                if let error { Issue.record(error) }
                return
            }
            #expect(update == nil)
            errors.add(error)
        }
        let updates = config.configUpdates
        let stream = Task<RemoteConfigUpdateError?, any Error> {
            do {
                for try await _ in updates {}
                return nil
            } catch let error as RemoteConfigUpdateError {
                return error
            }
        }
        return (errors, stream)
    }

    /// Waits until all listeners are connected, then ends the connection and refuses new ones.
    private func refuse(_ reason: Failure) async {
        await time.settle()
        source.refuse(Failure("https://h/updates", reason))
        source.end()
    }

    @Test func realTimeErrorIsReportedOnce() async throws {
        let config = start()
        let told = listen(config)
        await refuse(.unreachable("the server is down"))
        for _ in 0..<48 { await time.pass(.seconds(1800)) }
        try await told.listener.has(1)
        await time.settle()
        let reason = "https://h/updates: cannot connect: the server is down; check the server's URL and the network"
        #expect(told.listener.all == [.streamError(reason: reason)])
        #expect(told.listener.all.first?.errorCode == 8001)
        #expect(source.connects >= 12)
        #expect(try await told.stream.value == told.listener.all.first, "an error ends the stream")
    }

    @Test func realTimeUnavailableWithoutChannel() async throws {
        let config = start()
        let told = listen(config)
        await refuse(.status(404, body: "there is none"))
        await time.pass(.seconds(90))
        try await told.listener.has(1)
        #expect(
            told.listener.all == [.unavailable(reason: "https://h/updates: the server answered 404: there is none")])
        #expect(try await told.stream.value?.errorCode == 8004)
    }

    /// Malformed messages and announcements of states that the server does not have are reported once, then ignored.
    @Test func invalidAnnouncementsAreIgnored() async throws {
        let config = start()
        try await config.fetchAndActivate()
        let told = listen(config)
        await time.settle()
        for text in ["{}", "<html>", "[]", "1", ""] {
            let error = #expect(throws: Failure.self) { try UpdateEvent(updateJSON: Bytes(utf8: text)) }
            if let error { source.send(.refused(error)) }
        }
        await time.settle()
        try await told.listener.has(1)
        #expect(told.listener.all.map(\.errorCode) == [8003])
        #expect(try await told.stream.value == told.listener.all.first)
        // Another malformed message on a new connection is not reported again.
        source.end()
        await time.pass(.seconds(10))
        let another = #expect(throws: Failure.self) { try UpdateEvent(updateJSON: Bytes(utf8: "null")) }
        if let another { source.send(.refused(another)) }
        await time.settle()
        #expect(source.connects == 2 && told.listener.all.count == 1)
        source.announce(try place.server.monitorTimestamp().advanced(by: .seconds(1)), [place.collection.collection])
        for _ in 0..<50 where told.listener.all.count < 2 { await time.pass(.seconds(61)) }
        try await told.listener.has(2)
        await time.settle()
        #expect(told.listener.all.map(\.errorCode) == [8003, 8002])
        // Genuine announcements are still delivered.
        let updates = config.configUpdates
        try place.put("a", 2)
        source.announce(try place.server.monitorTimestamp(), [place.collection.collection])
        for _ in 0..<2 { await time.pass(.seconds(61)) }
        var iterator = updates.makeAsyncIterator()
        #expect(try await iterator.next()?.updatedKeys == ["a"])
    }

    @Test func configObserverOpensNoConnection() async throws {
        let config = start()
        let registration = config.addObserver { _ in }
        await time.settle()
        #expect(source.connects == 0)
        registration.remove()
    }
}
