import Foundation
import RemoteConfiguration
import RemoteSettingsHTTP
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing

/// When a fetch sends requests to the server, and when it does not.
struct FetchTests {
    let place: ConfigPlace

    init() throws {
        place = try ConfigPlace()
        place.freeze()
        try place.put("a", 1)
    }

    private func throttledUntil(_ config: RemoteConfig) async throws -> Double {
        let error = await #expect(throws: RemoteConfigError.self) { try await config.fetch(withExpirationDuration: 0) }
        guard case .paused(let until, _)? = error else { throw try #require(error) }
        #expect(error?.errorCode == 8002 && error?.throttledUntil == until)
        return until.date.timeIntervalSince1970 - Double(place.now.milliseconds) / 1000
    }

    @Test func fetchSettingsMatchFirebase() {
        var settings = RemoteConfigSettings()
        #expect(settings.minimumFetchInterval == 43_200 && settings.fetchTimeout == 60)
        #expect(settings.fetchesPerHour == 60)
        settings.minimumFetchInterval = -1
        settings.fetchTimeout = .nan
        settings.fetchesPerHour = -5
        #expect(settings.minimumFetchInterval == 0 && settings.fetchTimeout == 60 && settings.fetchesPerHour == 1)
    }

    /// Fetches, and returns whether that sent a request.
    private func asks(_ config: RemoteConfig) async throws -> Bool {
        let before = place.requests
        try await config.fetch()
        return place.requests > before
    }

    @Test func minimumFetchIntervalIsKept() async throws {
        let config = place.start(interval: 43_200)
        try await config.fetchAndActivate()
        #expect(try await !asks(config), "the last success is younger than the interval")
        #expect(try await config.fetchAndActivate() == .successUsingPreFetchedData)
        // The interval also applies after a restart.
        let later = place.start(interval: 43_200)
        #expect(try await !asks(later))
        place.pass(hours: 11.9)
        #expect(try await !asks(later))
        place.pass(hours: 0.2)
        let asked = place.requests
        #expect(try await later.fetchAndActivate() == .successFetchedFromRemote)
        #expect(place.requests > asked)
        let forced = place.requests
        try await later.fetch(withExpirationDuration: 0)
        #expect(place.requests > forced, "an expiration of 0 forces a request")
        // Forcing a fetch does not change the interval; assigning the settings does.
        #expect(later.configSettings.minimumFetchInterval == 43_200)
        #expect(try await !asks(later))
        later.configSettings = RemoteConfigSettings(minimumFetchInterval: 0, fetchesPerHour: .max)
        #expect(try await asks(later))
    }

    /// A new app version, locale or signal causes a fetch even within the interval.
    @Test func changedContextFetches() async throws {
        func start(_ version: String, _ locale: String) -> RemoteConfig {
            place.start(interval: 43_200) {
                $0.appContext = RemoteSettingsContext(appVersion: version, locale: locale)
            }
        }
        let config = start("1", "en")
        #expect(try await asks(config))
        #expect(try await !asks(config))
        #expect(try await asks(start("2", "en")))
        #expect(try await asks(start("2", "de")))
        let last = start("2", "de")
        #expect(try await !asks(last))
        try await last.setCustomSignals(["plan": "pro"])
        #expect(try await asks(last))
        try await last.setCustomSignals(["plan": "pro"])
        #expect(try await !asks(last))
    }

    @Test func concurrentFetchesShareOneRequest() async throws {
        let config = place.start()
        place.server.inject([Fault("changeset", delay: .milliseconds(50))])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { try await config.fetch(withExpirationDuration: 3600) } }
            try await group.waitForAll()
        }
        #expect(place.fetches == 1)
    }

    /// After failures, the backoff doubles from 120 s to 4 h, ±50 %. It survives restarts; a success resets it.
    @Test(arguments: [0.0, 0.5, 0.999])
    func fetchFailureBackoffDoubles(_ chance: Double) async throws {
        place.chance(chance)
        place.server.inject([Fault("changeset", effect: .status(500))])
        var expected = 120.0
        for round in 0..<10 {
            let config = place.start()
            let first = try await throttledUntil(config)
            #expect(config.lastFetchStatus == .throttled)
            let asked = place.requests
            let wait = try await throttledUntil(round.isMultiple(of: 2) ? config : place.start())
            #expect(wait == first && abs(wait - expected * (0.5 + chance)) < 0.01)
            #expect(place.requests == asked, "no requests during the backoff")
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
        #expect(abs(try await throttledUntil(config) - 120 * (0.5 + chance)) < 0.01, "a success resets it")
    }

    /// Statuses that throttle Firebase's client are reported as throttling at the first failure. All others fail with
    /// Firebase's code for HTTP errors, and only the next call is throttled.
    @Test(arguments: [429, 500, 503, 504, 400, 401, 403, 501, 502])
    func httpStatusOfFetch(_ status: Int) async throws {
        place.server.inject([Fault("/\(place.collection.name)/", effect: .status(status))])
        let config = place.start()
        if [429, 500, 503, 504].contains(status) {
            #expect(try await throttledUntil(config) >= 59)
            #expect(config.lastFetchStatus == .throttled)
            #expect(config.status.lastFetchError?.contains("answered \(status)") == true)
        } else {
            let error = await #expect(throws: RemoteConfigError.self) { try await config.fetch() }
            guard case .fetchFailed(let reason)? = error else { throw try #require(error) }
            #expect(reason.contains("answered \(status)") && error?.errorCode == 8003)
            #expect(config.lastFetchStatus == .failure)
            #expect(try await throttledUntil(config) >= 59)
        }
    }

    /// A fetch that never reaches the server is not reported as throttled because of an earlier request.
    @Test func unsentFetchIsNotThrottled() async throws {
        let service = RemoteSettingsService(storageDirectory: place.storage, config: place.config())
        let config = RemoteConfig(collection: place.collection.name, service: service)
        place.server.inject([Fault("/\(place.collection.name)/", effect: .status(503))])
        _ = try await throttledUntil(config)
        place.pass(hours: 2)
        service.shutdown()
        let error = await #expect(throws: RemoteConfigError.self) { try await config.fetch(withExpirationDuration: 0) }
        guard case .fetchFailed(let reason)? = error else { throw try #require(error) }
        #expect(reason.contains("shut down"))
    }

    /// Before the first publication, fetches fail without a backoff, so the next one sends a request again.
    @Test(arguments: ["changeset", "app"]) func fetchBeforeFirstPublication(_ missing: String) async throws {
        let text = missing == "app" ? "/\(place.collection.name)/" : missing
        place.server.inject([Fault(text, effect: .status(404))])
        let config = place.start()
        for _ in 0..<3 {
            let asked = place.requests
            let error = await #expect(throws: RemoteConfigError.self) { try await config.fetch() }
            guard case .fetchFailed? = error else { throw try #require(error) }
            #expect(error?.errorCode == 8003 && place.requests > asked)
            #expect(config.lastFetchStatus == .failure && config.status.nextFetch == nil)
        }
        place.server.inject([])
        #expect(try await config.fetch() == .success)
    }

    /// A captive portal answers every request with an HTML page.
    @Test func fetchRefusesHTMLPage() async throws {
        place.server.inject([Fault("changeset", effect: .body("<html><body>Sign in</body></html>"))])
        let error = await #expect(throws: RemoteConfigError.self) { try await place.start().fetch() }
        #expect(error?.description.contains("an HTML page where an object is expected") == true)
        #expect(error?.description.contains("https://settings.test/") == true)
    }

    /// The hourly limit stops an app that fetches in a loop, whatever the interval, even after restarts.
    @Test func fetchLimitPerHour() async throws {
        let asked = place.server.polls.count
        let config = RemoteConfig(
            collection: place.collection.name,
            service: RemoteSettingsService(storageDirectory: place.storage, config: place.config()),
            settings: RemoteConfigSettings(minimumFetchInterval: 0))
        var succeeded = 0
        for _ in 0..<200 where (try? await config.fetch(withExpirationDuration: 0)) != nil { succeeded += 1 }
        #expect(succeeded == 60 && place.server.polls.count - asked == 60)
        #expect(config.lastFetchStatus == .throttled)
        for config in [config, place.start(perHour: 60), place.start(perHour: 7)] {
            let wait = try await throttledUntil(config)
            #expect(wait > 3599 && wait <= 3660)
            #expect(config.status.holdReason?.contains("fetchesPerHour") == true)
            let next = try #require(config.status.nextFetch)
            #expect(next == place.now.advanced(by: .milliseconds(Int64((wait * 1000).rounded()))))
        }
        #expect(place.server.polls.count - asked == 60)
        place.pass(seconds: 3598)
        _ = try await throttledUntil(place.start(perHour: 60))
        place.pass(seconds: 62)
        #expect(try await place.start(perHour: 60).fetch() == .success)
        #expect(place.start().status.holdReason == nil)
    }

    /// The limit applies to every period of one hour, not to clock hours.
    @Test func fetchLimitIsASlidingHour() async throws {
        let config = place.start(perHour: 3)
        var times: [UInt64] = []
        for _ in 0..<60 {
            if (try? await config.fetch()) != nil { times.append(place.now.milliseconds) }
            place.pass(seconds: 200)
        }
        #expect(times.count >= 9)
        for (time, fourth) in zip(times, times.dropFirst(3)) { #expect(fourth - time >= 3_600_000) }
    }

    /// Announced changes can be fetched beyond the hourly limit, up to the same number of times again.
    @Test func fetchLimitForPushMessages() async throws {
        let config = place.start(perHour: 2)
        for _ in 0..<2 { try await config.fetch() }
        _ = try await throttledUntil(config)
        for _ in 0..<2 {
            try config.markStale()
            #expect(config.status.holdReason == nil)
            #expect(try await config.fetch() == .success)
        }
        try config.markStale()
        #expect(try await throttledUntil(config) <= 3660)
        #expect(config.status.isStale)
        place.pass(hours: 1.1)
        #expect(try await config.fetch() == .success)
    }

    /// Requests that do not reach the server do not count toward the limit; failed requests that do reach it count.
    @Test func fetchLimitCountsOnlySentRequests() async throws {
        for _ in 0..<10 { _ = try? await place.start(perHour: 2) { $0.transport = NoNetwork() }.fetch() }
        let config = place.start(perHour: 2)
        try await config.fetch()
        place.server.inject([Fault("changeset", effect: .status(404), times: 1)])
        _ = try? await config.fetch()
        place.server.inject([])
        #expect(try await throttledUntil(config) > 3599)
        // After the clock is set back, requests with times in the future do not count.
        place.pass(hours: -3)
        #expect(try await config.fetch() == .success)
    }

    /// Any sync of the collection counts as a fetch, even after a restart.
    @Test func otherSyncsCountAsFetch() async throws {
        let service = RemoteSettingsService(storageDirectory: place.storage, config: place.config())
        let config = RemoteConfig(collection: place.collection.name, service: service)
        try await config.fetch()
        try config.markStale()
        place.pass(hours: 11)
        try place.put("a", 2)
        try await service.sync()
        let now = Double(place.now.milliseconds) / 1000
        #expect(config.lastFetchTime?.timeIntervalSince1970 == now && config.lastFetchStatus == .success)
        #expect(!config.status.isStale, "the sync fetched the announced change")
        place.pass(hours: 11)
        let asked = place.requests
        for config in [config, place.start(interval: 43_200)] {
            #expect(config.lastFetchTime?.timeIntervalSince1970 == now)
            try await config.fetchAndActivate()
            #expect(config.text("a") == "2")
        }
        #expect(place.requests == asked, "the last success is younger than the interval")
        // A sync without changes counts too.
        try await service.sync()
        place.pass(hours: 11.9)
        try await config.fetch()
        #expect(place.fetches == 2)
        // A failed sync does not count.
        place.server.inject([Fault("changeset", effect: .status(500))])
        place.pass(hours: 1)
        _ = try? await service.sync()
        #expect(config.lastFetchTime?.timeIntervalSince1970 == now + 11 * 3600)
    }

    /// The server's `Retry-After` is honored exactly, survives restarts, and cannot be bypassed.
    @Test func fetchObeysServerBackoff() async throws {
        let config = place.start(interval: 43_200)
        try await config.fetch()
        place.server.inject([Fault("changeset", effect: .status(503), headers: ["Retry-After": "1800"])])
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

    /// Failures without a network cause no backoff: the device can fetch as soon as it is online.
    @Test func offlineDoesNotThrottle() async throws {
        let offline = place.start { $0.transport = NoNetwork() }
        for _ in 0..<5 {
            let error = await #expect(throws: RemoteConfigError.self) { try await offline.fetch() }
            guard case .fetchFailed(let reason)? = error else { throw try #require(error) }
            #expect(reason.contains("offline"), "the error contains the reason")
        }
        #expect(offline.lastFetchStatus == .failure && offline.lastFetchTime == nil)
        #expect(try await place.start().fetch() == .success)
    }

    /// A fetch times out even if the transport hangs forever, and does not block later calls.
    @Test func hangingFetchTimesOut() async throws {
        let hanging = HangingTransport()
        defer { hanging.letGo() }
        let config = place.start {
            $0.transport = hanging
            $0.environment.sleep = { try await Task.sleep(for: $0) }
        }
        config.configSettings.fetchTimeout = 0.2
        config.setDefaults(["a": "default"])
        for _ in 0..<2 {
            await #expect(throws: RemoteConfigError.timeout(.milliseconds(200))) { try await config.fetch() }
        }
        #expect(config.text("a") == "default" && config.lastFetchStatus == .failure)
    }

    /// The stale mark survives restarts and makes the next fetch ignore the interval; a successful fetch clears it.
    @Test func staleMarkLastsUntilSuccessfulFetch() async throws {
        let config = place.start(interval: 43_200)
        try await config.fetch()
        try config.markStale()
        let asked = place.requests
        place.server.inject([Fault("changeset", effect: .status(500), times: 4)])
        let later = place.start(interval: 43_200)
        #expect(later.status.isStale)
        await #expect(throws: RemoteConfigError.self) { try await later.fetch() }
        #expect(place.requests > asked && later.status.isStale, "a failed fetch keeps the mark")
        place.pass(seconds: 200)
        #expect(try await later.fetch() == .success)
        #expect(!later.status.isStale)
        #expect(try await !asks(place.start(interval: 43_200)))
    }

    @Test func pushMessagesMarkStale() async throws {
        let config = place.start(interval: 43_200)
        try await config.fetch()
        let held = try place.collection.timestamp().milliseconds
        #expect(try config.handlePushMessage([:]) == false)
        #expect(try config.handlePushMessage(["aps": ["content-available": 1]]) == false)
        #expect(try config.handlePushMessage(["CONFIG_STATE": "FRESH"]) == false)
        #expect(try config.handlePushMessage(["CONFIG_STATE": "STALE", "collection": "main/other"]) == false)
        #expect(try config.handlePushMessage(["timestamp": "\"\(held)\""]))
        #expect(!config.status.isStale, "the announced state is already stored")
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

    /// A message received during a fetch may announce a newer state, so the fetch does not clear the stale mark.
    @Test func pushMessageDuringFetchKeepsMark() async throws {
        let config = place.start(interval: 43_200)
        place.server.inject([Fault("changeset", delay: .milliseconds(200))])
        async let fetched = config.fetch()
        while place.server.requests.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
        try config.markStale()
        _ = try await fetched
        #expect(config.status.isStale)
    }

    /// After a clock jump, neither the interval nor a backoff blocks fetches for longer than the interval.
    @Test(arguments: [-40.0, -1, -0.001, 0.01, 40])
    func clockJumpsDelayNoFetch(_ years: Double) async throws {
        let config = place.start(interval: 43_200)
        try await config.fetch()
        place.pass(years: years)
        // Decades away, the certificates are not valid: the fetch fails, but it sends a request.
        let asked = place.requests
        _ = try? await config.fetch()
        if years > -0.0005 || years < 0 { #expect(place.requests > asked) }
        place.server.inject([Fault("changeset", effect: .status(500))])
        place.pass(hours: 13)
        _ = try? await config.fetch()
        place.server.inject([])
        // Back at the correct time, a success or failure recorded at the wrong time does not block fetches for longer
        // than the interval.
        place.pass(years: -years)
        if years <= 0 { place.pass(hours: 12) }
        #expect(try await asks(place.start(interval: 43_200)))
    }

    @Test func cancelledFetchChangesNothing() async throws {
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

    /// Canceling one caller's fetch does not cancel another caller's.
    @Test func cancelledFetchDoesNotEndOthers() async throws {
        let gate = GatedTransport(place.server, holding: "changeset")
        let config = place.start { $0.transport = gate }
        // The timeout is in real time, and a fetch can exceed the default on a busy machine.
        config.configSettings.fetchTimeout = 3600
        let one = Task { try await config.fetch() }
        let other = Task { try await config.fetch() }
        await gate.hasHeld()
        try await Task.sleep(for: .milliseconds(50))
        one.cancel()
        await #expect(throws: RemoteConfigError.cancelled) { try await one.value }
        gate.open()
        #expect(try await other.value == .success)
    }

    /// If the storage directory is not writable, calls that store something fail, but fetched values and the stale mark
    /// remain in effect until the process exits.
    @Test func fetchWithUnwritableStorage() async throws {
        try place.put("a", 1)
        try Data().write(to: URL(fileURLWithPath: place.storage))
        let config = place.start()
        config.setDefaults(["a": "default"])
        await #expect(throws: RemoteConfigError.self) { try await config.fetch() }
        await #expect(throws: RemoteConfigCustomSignalsError.self) { try await config.setCustomSignals(["x": "y"]) }
        #expect(throws: RemoteConfigError.self) { try config.markStale() }
        #expect(config.status.isStale && config.lastFetchStatus == .failure && config.text("a") == "default")
        #expect(try await config.activate())
        #expect(config.status.isStale && config.text("a") == "1")
        #expect(try await config.fetch() == .success)
        #expect(!config.status.isStale)
    }
}
