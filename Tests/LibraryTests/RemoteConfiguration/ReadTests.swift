import Dispatch
import Foundation
import RemoteConfiguration
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing

/// Lookup observers are notified of each value that the app reads, once per activation.
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

    /// The reads reported so far, as strings.
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
        // These calls do not count as reads.
        _ = (
            config.allKeys(from: .remote), config.keys(withPrefix: ""),
            config.configValue(forKey: "f", source: .default)
        )
        _ = (config.status, try await config.fetch(), try await config.activate())
        #expect(told() == ["a=1 remote a", "c=yes remote c-pro", "d=mine default d", "e=app default -"])
        let timestamp = try place.collection.timestamp()
        #expect(reads.all.map(\.timestamp) == [timestamp, timestamp, timestamp, nil])
        // After an activation that changes the state, all reads are reported again, even of unchanged values.
        try place.put("b", 2)
        try await config.fetchAndActivate()
        #expect(told().count == 4, "an activation reports no reads")
        _ = (config["a"], config["b"], config["a"])
        #expect(told().dropFirst(4) == ["a=1 remote a", "b=2 remote b"])
        #expect(reads.all.last?.timestamp == (try place.collection.timestamp()))
        // After new defaults, reads of default values are reported again.
        config.setDefaults(["d": "mine", "e": "other"])
        _ = (config["a"], config["d"], config["e"], config["e"])
        #expect(told().dropFirst(6) == ["d=mine default d", "e=other default -"])
        registration.remove()
        _ = config["c"]
        #expect(told().count == 8)
    }

    /// Decoding all parameters into a type reports only the keys that the type has members for.
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

    /// Reads do not wait for an observer, and the queue of reported reads is bounded.
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
        try await expectSoon("the newest read is reported") { calls.all.last == "k19999" }
        #expect(calls.all.count >= 4096 && calls.all.count < 20_000)
        registration.remove()
    }

    /// With concurrent reads and activations, no read is reported twice for the same state.
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
