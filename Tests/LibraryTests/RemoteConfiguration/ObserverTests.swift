import Dispatch
import Foundation
import Observation
import RemoteConfiguration
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing

/// Which events listeners and observers receive, when, and on which queue.
struct ObserverTests {
    let place: ConfigPlace

    init() throws {
        place = try ConfigPlace()
        try place.put(all: ["a": 1, "b": 1, "c": 1])
    }

    private func told(_ event: RemoteConfigEvent) -> String {
        switch event {
        case .fetched(let keys): "fetched \(keys.sorted())"
        case .fetchedWithoutChange: "no change"
        case .fetchFailed(let error): "failed \(error.errorCode)"
        case .activated(let keys): "activated \(keys.sorted())"
        }
    }

    /// Listeners are notified of each sync that changes values, with the keys that differ from the active values.
    /// Nothing is activated.
    @Test func updateListenerHearsChangedKeys() async throws {
        let service = RemoteSettingsService(storageDirectory: place.storage, config: place.config())
        let config = RemoteConfig(collection: place.collection.name, service: service)
        try await config.fetchAndActivate()
        let updates = Collector<Set<String>>()
        let registration = config.addOnConfigUpdateListener { update, error in
            #expect(error == nil)
            MainActor.assertIsolated()
            if let update { updates.add(update.updatedKeys) }
        }
        var stream = config.configUpdates.makeAsyncIterator()
        try place.put("a", 2)
        place.collection.delete("b")
        try place.put("d", 1)
        try await service.sync()
        try await updates.has(1)
        #expect(updates.all == [["a", "b", "d"]])
        #expect(try await stream.next()?.updatedKeys == ["a", "b", "d"])
        #expect(config.text("a") == "1")
        // Keys are compared with the active state, not with the previously fetched one.
        try place.put("a", 1)
        try await service.sync()
        try await updates.has(2)
        #expect(updates.all.last == ["b", "d"])
        // Listeners are not called if nothing changes for this app.
        try await config.activate()
        try place.put("c", 9, id: "c1", filter: "env.locale == 'xx'")
        try await service.sync()
        try place.put("c", 3)
        try await service.sync()
        try await updates.has(3)
        #expect(updates.all.count == 3 && updates.all.last == ["c"])
        registration.remove()
        registration.remove()
        try place.put("c", 4)
        try await service.sync()
        #expect(try await stream.next()?.updatedKeys == ["b", "d"])
        #expect(try await stream.next()?.updatedKeys == ["c"])
        #expect(try await stream.next()?.updatedKeys == ["c"])
        #expect(updates.all.count == 3)
        service.shutdown()
        #expect(try await stream.next() == nil)
    }

    /// Swift considers the two Unicode spellings of é equal, but they are different keys and values here.
    @Test func unicodeSpellingsAreDistinctParameters() async throws {
        let (one, two) = ("caf\u{E9}", "cafe\u{301}")
        func bytes(_ keys: Set<String>) -> [[UInt8]] { keys.map { Array($0.utf8) } }
        try place.put(one, 1, id: "one", filter: "true")
        try place.put(two, 2, id: "two", filter: "true")
        let config = place.start()
        config.setDefaults([two: 9])
        try await config.fetchAndActivate()
        #expect(config.text(one) == "1" && config.text(two) == "2")
        #expect(config.allKeys(from: .remote).suffix(2).map { Array($0.utf8) } == [Array(two.utf8), Array(one.utf8)])
        try place.put(two, 3, id: "two", filter: "true")
        _ = try await config.fetch(withExpirationDuration: 0)
        #expect(bytes(config.status.waiting) == [Array(two.utf8)])
        // A change of Unicode spelling alone counts as a change of value.
        try place.put(one, one, id: "one", filter: "true")
        try await config.fetchAndActivate()
        try place.put(one, two, id: "one", filter: "true")
        _ = try await config.fetch(withExpirationDuration: 0)
        #expect(bytes(config.status.waiting) == [Array(one.utf8)])
        #expect(config.text(two) == "3")
        place.collection.delete("two")
        _ = try await config.fetch(withExpirationDuration: 0)
        try await config.activate()
        #expect(config.text(two) == "9" && config.text(one).utf8.elementsEqual(two.utf8))
    }

    @Test func updateListenerReportsForeignRecords() async throws {
        let config = place.start()
        try await config.fetchAndActivate()
        let errors = Collector<String>()
        let updates = config.configUpdates
        config.addOnConfigUpdateListener { update, error in
            #expect(update == nil)
            errors.add("\(String(describing: error))")
        }
        try place.collection.put("stranger", ["x": 1])
        _ = try? await config.fetch()
        try await errors.has(1)
        #expect(errors.all.first?.contains("stranger") == true)
        await #expect(throws: RemoteConfigError.self, "an error ends the stream") { for try await _ in updates {} }
    }

    /// Observers are notified of every fetch and activation, in order, on their queue or executor.
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test func configObserverHearsFetchesAndActivations() async throws {
        let config = place.start()
        let queue = DispatchQueue(label: "observers")
        let events = Collector<String>()
        let others = Collector<String>()
        config.addObserver(on: queue) { event in
            dispatchPrecondition(condition: .onQueue(queue))
            events.add(self.told(event))
        }
        config.addObserver(on: globalConcurrentExecutor) { others.add(self.told($0)) }
        try await config.fetch()
        try await config.fetch()
        try await config.activate()
        try await config.activate()
        try await config.fetch()
        try place.put("a", 2)
        try await config.fetchAndActivate()
        place.server.inject([Fault("changeset", effect: .status(500))])
        _ = try? await config.fetch()
        _ = try? await config.fetch()
        let all = [
            #"fetched ["a", "b", "c"]"#, #"fetched ["a", "b", "c"]"#, #"activated ["a", "b", "c"]"#, "no change",
            #"fetched ["a"]"#, #"activated ["a"]"#, "failed 8002", "failed 8002",
        ]
        try await events.has(all.count)
        try await others.has(all.count)
        #expect(events.all == all)
        #expect(others.all == all)
    }

    /// `remove()` on the main thread does not wait for an observer that is itself waiting for the main thread.
    @Test @MainActor func removeListenerOnMainDoesNotBlock() async throws {
        let config = place.start()
        let (entered, left) = (Flag(), Flag())
        let mainIsBusy = DispatchSemaphore(value: 0)
        let registration = config.addObserver(on: DispatchQueue(label: "q")) { _ in
            entered.set()
            mainIsBusy.wait()
            DispatchQueue.main.sync {}
            left.set()
        }
        try await config.fetch()
        while !entered.isSet { try await Task.sleep(for: .milliseconds(2)) }
        // Nothing else runs on the main thread until remove() has returned.
        mainIsBusy.signal()
        registration.remove()
        #expect(!left.isSet)
        while !left.isSet { try await Task.sleep(for: .milliseconds(2)) }
    }

    /// An executor that runs its jobs only when `run()` is called.
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    private final class StalledExecutor: TaskExecutor {
        private let jobs = Mutex<[UnownedJob]>([])

        var count: Int { jobs.withLock { $0.count } }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            jobs.withLock { $0.append(job) }
        }

        func run() {
            let all = jobs.withLock { jobs in
                defer { jobs = [] }
                return jobs
            }
            for job in all { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
        }
    }

    /// While an observer cannot run, at most one call and 16 events are pending, and no changed key is lost.
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test func waitingObserverEventsAreBounded() async throws {
        let config = place.start()
        let executor = StalledExecutor()
        let events = Collector<RemoteConfigEvent>()
        config.addObserver(on: executor) { events.add($0) }
        try await config.fetchAndActivate()
        for round in 0..<30 {
            try place.put("k\(round)", 1)
            try await config.fetchAndActivate()
            try await config.fetch()
        }
        #expect(executor.count == 1 && events.all.isEmpty)
        executor.run()
        #expect(events.all.count == 16)
        #expect(events.all.last.map(told) == "no change", "the newest fetch is reported")
        let activated = events.all.reduce(into: Set<String>()) { keys, event in
            if case .activated(let activated) = event { keys.formUnion(activated) }
        }
        #expect(activated == Set(["a", "b", "c"] + (0..<30).map { "k\($0)" }))
        try await config.fetch()
        #expect(executor.count == 1)
        executor.run()
        #expect(events.all.count == 17)
    }

    @Test func observerMayRemoveItself() async throws {
        let config = place.start()
        let calls = Collector<Int>()
        let held = Mutex<ConfigUpdateListenerRegistration?>(nil)
        let registration = config.addObserver(on: DispatchQueue(label: "q")) { _ in
            calls.add(1)
            held.withLock { $0 }?.remove()
        }
        held.withLock { $0 = registration }
        try await config.fetch()
        try await calls.has(1)
        try await config.fetchAndActivate()
        try await Task.sleep(for: .milliseconds(50))
        #expect(calls.all.count == 1)
    }

    /// SwiftUI views and other users of Observation are notified when values of any layer change.
    @Test func observationFollowsEveryLayer() async throws {
        let config = place.start()
        try await config.fetchAndActivate()
        let changes = Collector<Int>()
        func watch() -> String {
            withObservationTracking {
                config.text("a")
            } onChange: {
                changes.add(1)
            }
        }
        #expect(watch() == "1")
        try place.put("a", 2)
        try await config.fetch()
        #expect(changes.all.isEmpty)
        try await config.activate()
        #expect(changes.all.count == 1 && watch() == "2")
        config.setDefaults(["x": 1])
        #expect(changes.all.count == 2 && watch() == "2")
        config.setOverrides(["a": 3])
        #expect(changes.all.count == 3 && watch() == "3")
    }

    /// `@RemoteConfigProperty` works on every platform.
    @Test func configPropertyFollowsActivations() async throws {
        struct View {
            @RemoteConfigProperty var a: Int
            @RemoteConfigProperty var title: String
            @RemoteConfigProperty var wrong: Bool
        }
        let config = place.start()
        config.setDefaults(["title": "default", "wrong": "text"])
        try await config.ensureInitialized()
        let view = View(
            a: .init(key: "a", fallback: 7, config: config), title: .init(key: "title", fallback: "", config: config),
            wrong: .init(key: "wrong", fallback: true, config: config))
        #expect(view.a == 7 && view.title == "default" && view.wrong)
        #expect(RemoteConfigProperty(key: "a", fallback: 7, config: config).key == "a")
        let changes = Collector<Int>()
        _ = withObservationTracking {
            view.a
        } onChange: {
            changes.add(1)
        }
        try await config.fetchAndActivate()
        #expect(view.a == 1 && changes.all.count == 1)
    }

    /// The value and error that a call passes to its completion handler.
    @MainActor
    private func outcome<Value: Sendable>(
        _ call: (@escaping @MainActor @Sendable (Value, (any Error)?) -> Void) -> Void
    ) async -> (value: Value, error: RemoteConfigError?) {
        await withCheckedContinuation { done in
            call { value, error in
                MainActor.assertIsolated()
                done.resume(returning: (value, error as? RemoteConfigError))
            }
        }
    }

    /// Completion handlers run on the main actor, and always receive an error after a failure.
    @Test @MainActor func configCompletionHandlers() async throws {
        let config = place.start(interval: 3600)
        #expect(
            await withCheckedContinuation { done in config.ensureInitialized { done.resume(returning: $0 == nil) } })
        for (signal, isValid): (CustomSignalValue, Bool) in [("b", true), (.double(.infinity), false)] {
            let isSet = await withCheckedContinuation { done in
                config.setCustomSignals(["a": signal]) { done.resume(returning: $0 == nil) }
            }
            #expect(isSet == isValid)
        }
        let first = await outcome { config.fetch(completionHandler: $0) }
        #expect(first.value == .success && first.error == nil)
        let changed = await outcome { config.activate(completion: $0) }
        #expect(changed.value && changed.error == nil)
        let both = await outcome { config.fetchAndActivate(completionHandler: $0) }
        #expect(both.value == .successUsingPreFetchedData && both.error == nil)
        place.server.inject([Fault("changeset", effect: .status(500))])
        for _ in 0..<2 {
            let failed = await outcome { config.fetch(withExpirationDuration: 0, completionHandler: $0) }
            #expect(failed.value == .throttled && failed.error?.errorCode == 8002)
        }
        config.configSettings.minimumFetchInterval = 0
        let last = await outcome { config.fetchAndActivate(completionHandler: $0) }
        #expect(last.value == .error && last.error != nil)
    }
}
