import Foundation
import InMemoryOrigin
import RemoteConfiguration
import RemoteSettingsHTTP
import RemoteSettingsModel
import Synchronization
import Testing

/// When the server is asked, and when not.
struct FetchTests {
    let place: ConfigPlace

    init() throws {
        place = try ConfigPlace()
        place.freeze()
        try place.put("a", 1)
    }

    private func throttledUntil(_ config: RemoteConfig) async throws -> Double {
        let error = await #expect(throws: RemoteConfigError.self) { try await config.fetch(withExpirationDuration: 0) }
        guard case .throttled(let until, _)? = error else { throw try #require(error) }
        #expect(error?.errorCode == 8002 && error?.throttledUntil == until)
        return until.timeIntervalSince1970 - Double(place.now.milliseconds) / 1000
    }

    @Test func defaultsAreFirebases() {
        let settings = RemoteConfigSettings()
        #expect(settings.minimumFetchInterval == 43_200 && settings.fetchTimeout == 60)
        settings.minimumFetchInterval = -1
        settings.fetchTimeout = .nan
        #expect(settings.minimumFetchInterval == 0 && settings.fetchTimeout == 60)
    }

    @Test func interval() async throws {
        let config = place.start(interval: 43_200)
        try await config.fetchAndActivate()
        let first = place.requests
        #expect(try await config.fetch() == .success)
        #expect(try await config.fetchAndActivate() == .successUsingPreFetchedData)
        #expect(place.requests == first, "the last success is younger than the interval")
        // Across a restart too.
        let later = place.start(interval: 43_200)
        try await later.fetch()
        #expect(place.requests == first)
        place.pass(hours: 11.9)
        try await later.fetch()
        #expect(place.requests == first)
        place.pass(hours: 0.2)
        #expect(try await later.fetchAndActivate() == .successFetchedFromRemote)
        #expect(place.requests > first)
        let second = place.requests
        try await later.fetch(withExpirationDuration: 0)
        #expect(place.requests > second, "0 forces")
        // Reading the settings has no effect; setting them has.
        let third = place.requests
        #expect(later.configSettings.minimumFetchInterval == 43_200)
        try await later.fetch()
        #expect(place.requests == third)
        later.configSettings = RemoteConfigSettings(minimumFetchInterval: 0)
        try await later.fetch()
        #expect(place.requests > third)
    }

    /// A changed context fetches past the interval: another app version, another locale, other signals.
    @Test func changedContextFetches() async throws {
        func start(_ version: String, _ locale: String) -> RemoteConfig {
            place.start(interval: 43_200) {
                $0.appContext = RemoteSettingsContext(appVersion: version, locale: locale)
            }
        }
        func asks(_ config: RemoteConfig) async throws -> Bool {
            let before = place.requests
            try await config.fetch()
            return place.requests > before
        }
        let config = start("1", "en")
        #expect(try await asks(config))
        #expect(try await asks(config) == false)
        #expect(try await asks(start("2", "en")))
        #expect(try await asks(start("2", "de")))
        let last = start("2", "de")
        #expect(try await asks(last) == false)
        try await last.setCustomSignals(["plan": "pro"])
        #expect(try await asks(last))
        try await last.setCustomSignals(["plan": "pro"])
        #expect(try await asks(last) == false)
    }

    @Test func callsShareOneFetch() async throws {
        let config = place.start()
        place.server.inject([Fault("changeset", delay: .milliseconds(50))])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { try await config.fetch(withExpirationDuration: 3600) } }
            try await group.waitForAll()
        }
        #expect(place.fetches == 1)
    }

    /// 120 s, doubling to 4 h, each by half more or less; in force after a restart; a success resets it.
    @Test(arguments: [0.0, 0.5, 0.999])
    func failuresDouble(_ chance: Double) async throws {
        place.chance(chance)
        place.server.inject([Fault("changeset", effect: .status(500))])
        var expected = 120.0
        for round in 0..<10 {
            let config = place.start()
            await #expect(throws: RemoteConfigError.self) { try await config.fetch() }
            #expect(config.lastFetchStatus == .failure)
            let asked = place.requests
            let wait = try await throttledUntil(round.isMultiple(of: 2) ? config : place.start())
            #expect(abs(wait - expected * (0.5 + chance)) < 0.01)
            #expect(place.requests == asked, "nothing is asked while it lasts")
            #expect(config.status.nextFetch != nil && config.status.holdReason?.contains("failed") == true)
            place.pass(seconds: wait - 0.5)
            _ = try await throttledUntil(place.start())
            #expect(place.requests == asked)
            place.pass(seconds: 1)
            expected = min(expected * 2, 14_400)
        }
        place.server.inject([])
        let config = place.start()
        #expect(try await config.fetch() == .success)
        place.server.inject([Fault("changeset", effect: .status(500))])
        await #expect(throws: RemoteConfigError.self) { try await config.fetch() }
        #expect(abs(try await throttledUntil(config) - 120 * (0.5 + chance)) < 0.01, "a success resets it")
    }

    /// Each of Firebase's statuses holds the next request back.
    @Test(arguments: [429, 500, 503, 504])
    func statusesThatHoldBack(_ status: Int) async throws {
        place.server.inject([Fault("changeset", effect: .status(status))])
        let config = place.start()
        await #expect(throws: RemoteConfigError.self) { try await config.fetch() }
        #expect(try await throttledUntil(config) >= 59)
    }

    /// The server's own wait is kept as it is, in force after a restart, and nothing gets past it.
    @Test func serversBackoff() async throws {
        let config = place.start(interval: 43_200)
        try await config.fetch()
        place.server.inject([Fault("changeset", effect: .status(503), headers: [.init("Retry-After", "1800")])])
        #expect(abs(try await throttledUntil(config) - 1800) < 2)
        let asked = place.requests
        place.server.inject([])
        #expect(config.lastFetchStatus == .throttled)
        for later in [config, place.start()] {
            try later.markStale()
            #expect(abs(try await throttledUntil(later) - 1800) < 2)
            let status = later.status
            #expect(status.holdReason?.contains("server asked") == true && status.isStale)
        }
        #expect(place.requests == asked)
        place.pass(seconds: 1805)
        #expect(try await place.start(interval: 43_200).fetch() == .success)
        #expect(place.requests > asked)
    }

    /// A device without a network is not held back: as soon as there is one, it may fetch.
    @Test func offlineDoesNotThrottle() async throws {
        let offline = place.start { $0.transport = NoNetwork() }
        for _ in 0..<5 {
            let error = await #expect(throws: RemoteConfigError.self) { try await offline.fetch() }
            guard case .fetchFailed(let reason)? = error else { throw try #require(error) }
            #expect(reason.contains("offline"), "an error is never without a reason")
        }
        #expect(offline.lastFetchStatus == .failure && offline.lastFetchTime == nil)
        #expect(try await place.start().fetch() == .success)
    }

    /// A fetch ends after its time-out even where the transport hangs for ever, and other calls are not held up by it.
    @Test func fetchAlwaysEnds() async throws {
        let hanging = HangingTransport()
        defer { hanging.letGo() }
        let config = place.start {
            $0.transport = hanging
            $0.environment.sleep = { try await Task.sleep(for: $0) }
        }
        config.configSettings.fetchTimeout = 0.2
        config.setDefaults(["a": "default"])
        let began = ContinuousClock.now
        for _ in 0..<2 {
            await #expect(throws: RemoteConfigError.timeout(seconds: 0.2)) { try await config.fetch() }
        }
        #expect(ContinuousClock.now - began < .seconds(10))
        #expect(config.text("a") == "default" && config.lastFetchStatus == .failure)
    }

    /// A message marks it stale across restarts; the next fetch asks past the interval; its success clears the mark.
    @Test func stale() async throws {
        let config = place.start(interval: 43_200)
        try await config.fetch()
        try config.markStale()
        let asked = place.requests
        place.server.inject([Fault("changeset", effect: .status(500), times: 4)])
        let later = place.start(interval: 43_200)
        #expect(later.status.isStale)
        await #expect(throws: RemoteConfigError.self) { try await later.fetch() }
        #expect(place.requests > asked && later.status.isStale, "a failure keeps it")
        place.pass(seconds: 200)
        #expect(try await later.fetch() == .success)
        #expect(!later.status.isStale)
        let done = place.requests
        try await place.start(interval: 43_200).fetch()
        #expect(place.requests == done)
    }

    @Test func pushMessages() async throws {
        let config = place.start(interval: 43_200)
        try await config.fetch()
        let held = try place.collection.timestamp()
        #expect(try config.handlePushMessage([:]) == false)
        #expect(try config.handlePushMessage(["aps": ["content-available": 1]]) == false)
        #expect(try config.handlePushMessage(["CONFIG_STATE": "FRESH"]) == false)
        #expect(try config.handlePushMessage(["CONFIG_STATE": "STALE", "collection": "main/other"]) == false)
        #expect(try config.handlePushMessage(["timestamp": "\"\(held)\""]))
        #expect(!config.status.isStale, "what is held already needs no fetch")
        #expect(try config.handlePushMessage(["timestamp": "\"\(held + 1)\"", "collection": place.collection.id]))
        #expect(config.status.isStale)
        try await config.fetch()
        #expect(!config.status.isStale)
        #expect(place.server.requests.contains { $0.path.contains("_expected=") && $0.path.contains("\(held + 1)") })
        for message: [AnyHashable: Any] in [
            ["CONFIG_STATE": "STALE"], ["timestamp": held + 5], ["timestamp": Double(held + 5)],
            ["CONFIG_STATE": "STALE", "collection": place.collection.name],
        ] {
            #expect(try config.handlePushMessage(message))
            #expect(place.start().status.isStale)
            try await config.fetch()
            #expect(!config.status.isStale)
        }
        for nonsense: [AnyHashable: Any] in [["timestamp": -1], ["timestamp": 1e300], ["timestamp": "x"]] {
            #expect(try config.handlePushMessage(nonsense) == false)
        }
    }

    /// A message that comes while a fetch is under way is about something newer: the fetch's success does not clear it.
    @Test func messageDuringFetch() async throws {
        let config = place.start(interval: 43_200)
        place.server.inject([Fault("changeset", delay: .milliseconds(200))])
        async let fetched = config.fetch()
        while place.server.requests.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
        try config.markStale()
        _ = try await fetched
        #expect(config.status.isStale)
    }

    /// A clock that jumps blocks no fetch for longer than the interval, and no failure's pause either.
    @Test(arguments: [-40.0, -1, -0.001, 0.01, 40])
    func clockJumps(_ years: Double) async throws {
        let config = place.start(interval: 43_200)
        try await config.fetch()
        place.pass(years: years)
        // Certificates are not valid decades away: then the fetch fails, but it is made.
        let asked = place.requests
        _ = try? await config.fetch()
        if years > -0.0005 || years < 0 { #expect(place.requests > asked) }
        place.server.inject([Fault("changeset", effect: .status(500))])
        place.pass(hours: 13)
        _ = try? await config.fetch()
        place.server.inject([])
        // Back to the right time: a success or a failure of another age holds nothing back for longer than the interval.
        place.pass(years: -years)
        if years <= 0 { place.pass(hours: 12) }
        let before = place.requests
        let later = place.start(interval: 43_200)
        #expect(try await later.fetch() == .success)
        #expect(place.requests > before)
    }

    /// The interval counts only while what was fetched is still there: a device that was restored without its cache, or
    /// with the half of it, recovers by itself.
    @Test(arguments: [["cache"], ["state"], ["cache", "state"]])
    func restoredDevice(_ lost: [String]) async throws {
        let packaged = try await place.package()
        try place.put("a", 2)
        func start() -> RemoteConfig { place.start(interval: 43_200) { $0.packaged = [packaged] } }
        try await start().fetch()
        if lost.contains("cache") { try FileManager.default.removeItem(atPath: place.cacheFile) }
        if lost.contains("state") { try FileManager.default.removeItem(atPath: place.stateFile) }
        let restored = start()
        #expect(restored.text("a") == "1", "packaged")
        try await restored.fetchAndActivate()
        #expect(restored.text("a") == "2")
    }

    @Test func cancellationLeavesNothing() async throws {
        let config = place.start()
        try await config.fetch()
        let before = config.status
        try place.put("a", 2)
        place.server.inject([Fault("changeset", delay: .seconds(30))])
        let task = Task { try await config.fetch() }
        while place.requests < 3 { try await Task.sleep(for: .milliseconds(2)) }
        task.cancel()
        await #expect(throws: RemoteConfigError.cancelled) { try await task.value }
        #expect(config.status == before)
        place.server.inject([])
        let cancelled = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            try await config.activate()
        }
        await #expect(throws: RemoteConfigError.cancelled) { try await cancelled.value }
        try await config.fetchAndActivate()
        #expect(config.text("a") == "2")
    }

    /// One caller's cancellation does not end the fetch of another.
    @Test func cancellationIsOnesOwn() async throws {
        let config = place.start()
        place.server.inject([Fault("changeset", delay: .milliseconds(300))])
        let one = Task { try await config.fetch() }
        let other = Task { try await config.fetch() }
        while place.server.requests.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
        one.cancel()
        await #expect(throws: RemoteConfigError.cancelled) { try await one.value }
        #expect(try await other.value == .success)
    }

    /// A storage directory that cannot be written: reading goes on, and a call that has to store something says so.
    @Test func unwritableStorage() async throws {
        try Data().write(to: URL(fileURLWithPath: place.storage))
        let config = place.start()
        config.setDefaults(["a": "default"])
        await #expect(throws: RemoteConfigError.self) { try await config.fetch() }
        await #expect(throws: RemoteConfigCustomSignalsError.self) { try await config.setCustomSignals(["x": "y"]) }
        #expect(throws: RemoteConfigError.self) { try config.markStale() }
        await #expect(throws: RemoteConfigError.self) { try await config.activate() }
        #expect(config.text("a") == "default" && config.status.isStale && config.lastFetchStatus == .failure)
    }
}
