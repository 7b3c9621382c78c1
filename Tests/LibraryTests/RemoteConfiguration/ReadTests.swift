import Dispatch
import Foundation
import RemoteConfiguration
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing

/// Whoever has to know which values an app has read hears of each once for an activation.
struct ReadTests {
    let place: ConfigPlace
    let queue = DispatchQueue(label: "reads")
    let reads = Collector<RemoteConfigLookup>()

    init() throws {
        place = try ConfigPlace()
        try place.put(all: ["a": 1, "b": 1])
        try place.put("c", "no")
        try place.put("c", "yes", id: "c-pro", filter: "env.plan == 'pro'")
        try place.collection.put("d", ["key": "d", "in_app_default": true])
    }

    private func observe(_ config: RemoteConfig) -> ConfigUpdateListenerRegistration {
        config.addLookupObserver(on: queue) { [queue, reads] read in
            dispatchPrecondition(condition: .onQueue(queue))
            reads.add(read)
        }
    }

    /// What was told so far, as texts.
    private func told() -> [String] {
        queue.sync {}
        return reads.all.map { "\($0.key)=\($0.value.stringValue) \($0.source.rawValue) \($0.record ?? "-")" }
    }

    @Test func lookupObserverHearsValueOncePerActivation() async throws {
        let config = place.start()
        config.setDefaults(["d": "mine", "e": "app", "f": "x"])
        try await config.setCustomSignals(["plan": "pro"])
        try await config.fetchAndActivate()
        _ = config["b"]
        let registration = observe(config)
        for _ in 0..<3 {
            _ = config["a"].numberValue
            _ = config.configValue(forKey: "c")
            _ = config.snapshot()["d"]
            _ = config.string(forKey: "e", default: "")
            _ = config["nobody has it"]
        }
        // Not read by these.
        _ = (
            config.allKeys(from: .remote), config.keys(withPrefix: ""),
            config.configValue(forKey: "f", source: .default)
        )
        _ = (config.status, try await config.fetch(), try await config.activate())
        #expect(told() == ["a=1 remote a", "c=yes remote c-pro", "d=mine default d", "e=app default -"])
        let timestamp = try place.collection.timestamp()
        #expect(reads.all.map(\.timestamp) == [timestamp, timestamp, timestamp, nil])
        // An activation that changes the state begins anew, also for values that are the same.
        try place.put("b", 2)
        try await config.fetchAndActivate()
        #expect(told().count == 4, "an activation reads nothing")
        _ = (config["a"], config["b"], config["a"])
        #expect(told().dropFirst(4) == ["a=1 remote a", "b=2 remote b"])
        #expect(reads.all.last?.timestamp == (try place.collection.timestamp()))
        // Other defaults change those values that come from them.
        config.setDefaults(["d": "mine", "e": "other"])
        _ = (config["a"], config["d"], config["e"], config["e"])
        #expect(told().dropFirst(6) == ["d=mine default d", "e=other default -"])
        registration.remove()
        _ = config["c"]
        #expect(told().count == 8)
    }

    /// Reading everything as one value reads the keys that it has members for.
    @Test func lookupObserverHearsDecodedMembers() async throws {
        struct All: Decodable {
            let a: Int
            let c: String
        }
        let config = place.start()
        try await config.fetchAndActivate()
        let registration = observe(config)
        let all: All = try config.decoded()
        #expect(all.a == 1 && all.c == "no")
        #expect(told().sorted() == ["a=1 remote a", "c=no remote c"])
        let texts: [String: String] = try config.decoded()
        #expect(texts == ["a": "1", "b": "1", "c": "no"])
        #expect(told().sorted() == ["a=1 remote a", "b=1 remote b", "c=no remote c"])
        registration.remove()
    }

    /// A reader does not wait for an observer, and what waits has a bound.
    @Test func configReadersDoNotWaitForObservers() async throws {
        let config = place.start()
        config.setDefaults(Dictionary(uniqueKeysWithValues: (0..<20_000).map { ("k\($0)", $0) }))
        let (gate, calls) = (DispatchSemaphore(value: 0), Collector<String>())
        let registration = config.addLookupObserver(on: queue) { read in
            gate.wait()
            gate.signal()
            calls.add(read.key)
        }
        for number in 0..<20_000 { _ = config["k\(number)"] }
        #expect(calls.all.isEmpty)
        gate.signal()
        try await expectSoon("the newest read is told") { calls.all.last == "k19999" }
        #expect(calls.all.count >= 4096 && calls.all.count < 20_000)
        registration.remove()
    }

    /// Threads that read at once while states are activated: no read is told twice for one state.
    @Test func lookupObserverHearsNothingTwice() async throws {
        let config = place.start()
        try await config.fetchAndActivate()
        let registration = observe(config)
        let isDone = Flag()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    while !isDone.isSet { _ = (config["a"], config["b"], await Task.yield()) }
                }
            }
            group.addTask {
                for round in 2..<30 {
                    try place.put("a", round)
                    try await config.fetchAndActivate()
                }
                isDone.set()
            }
            try await group.waitForAll()
        }
        _ = told()
        let keys = reads.all.map { "\($0.key) \($0.timestamp?.milliseconds ?? 0)" }
        #expect(Set(keys).count == keys.count && keys.count > 10)
        registration.remove()
    }
}
