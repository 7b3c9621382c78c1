import Foundation
import InMemoryOrigin
import RemoteConfiguration
import RemoteSettingsModel
import Synchronization
import Testing

/// What a listener hears of what is published, without a call by the app.
@Suite(.timeLimit(.minutes(2)))
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
            config.updates = UpdatePolicy(channel: .source(source))
        }
    }

    @Test func listenersHearOfWhatIsPublished() async throws {
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
        // Nothing activates itself.
        #expect(config["a"].stringValue == "1")
        try await config.activate()
        #expect(config["a"].stringValue == "2" && config["b"].source != .remote)
        registration.remove()
        await time.settle()
        #expect(source.open == 1)
        second.remove()
        await time.settle()
        #expect(source.open == 0)
        // The stream of updates is a listener too.
        let task = Task { for try await _ in config.configUpdates {} }
        await time.settle()
        #expect(source.open == 1 && source.most == 1)
        task.cancel()
        await time.settle()
        #expect(source.open == 0)
    }

    @Test func oneErrorForOneCause() async throws {
        let config = start()
        let errors = Collector<String>()
        source.refuse(UpdateSourceError(.failed, "the server is down"))
        let registration = config.addOnConfigUpdateListener { _, error in
            if let error { errors.add("\(error)") }
        }
        for _ in 0..<48 { await time.pass(.seconds(1800)) }
        try await errors.has(1)
        await time.settle()
        #expect(errors.all == ["the server is down"])
        #expect(source.connects == 8)
        registration.remove()
    }

    @Test func anObserverOpensNoConnection() async throws {
        let config = start()
        let registration = config.addObserver { _ in }
        await time.settle()
        #expect(source.connects == 0)
        registration.remove()
    }
}
