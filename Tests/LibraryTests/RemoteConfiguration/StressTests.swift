import Dispatch
import FaultyServer
import Foundation
import RemoteConfiguration
import RemoteSettingsHTTP
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing

/// Concurrent use under load, and processes killed at random moments. `RC_SECONDS` and `RC_KILLS` make the tests
/// longer; use `RC_SECONDS` with the thread sanitizer.
struct StressTests {
    private static let keys = (0..<10).map { "key\($0)" }

    private static func setting(_ name: String, else value: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? value
    }

    /// Publishes the same number for all keys at once, so no published state mixes numbers.
    private static func write(_ number: Int, _ place: ConfigPlace) throws {
        try place.put(all: Dictionary(uniqueKeysWithValues: keys.map { ($0, number) }))
    }

    /// Runs reads, fetches, activations, changes of signals, listeners, configuration and settings, and stale marks
    /// concurrently, then shuts down: each snapshot is of one published state, and values never revert to older ones.
    @Test(.timeLimit(.minutes(10))) func configReadsOfOneStateUnderLoad() async throws {
        let place = try ConfigPlace()
        try Self.write(0, place)
        let packaged = try await place.package()
        @Sendable func configuration(_ channel: String) -> RemoteSettingsConfig {
            place.config {
                $0.packaged = [packaged]
                $0.appContext = RemoteSettingsContext(channel: channel)
            }
        }
        let service = RemoteSettingsService(storageDirectory: place.storage, config: configuration("a"))
        let config = RemoteConfig(
            collection: place.collection.name, service: service,
            settings: RemoteConfigSettings(minimumFetchInterval: 0, fetchesPerHour: .max))
        let other = place.start { $0.packaged = [packaged] }
        let (isDone, published) = (Flag(), Collector<Int>())
        let wrong = Collector<String>()
        let reads = Collector<Int>()
        published.add(0)
        /// - Returns: the number that all keys have.
        @Sendable func check(_ values: RemoteConfigSnapshot, atLeast last: Int) -> Int {
            let texts = Set(Self.keys.map { values[$0].stringValue })
            guard texts.count == 1, let number = texts.first.flatMap({ Int($0) }), number >= last,
                values["default"].numberValue == 7
            else {
                wrong.add("\(texts) after \(last)")
                return last
            }
            return number
        }
        config.setDefaults(["default": 7])
        other.setDefaults(["default": 7])
        try await withThrowingTaskGroup(of: Void.self) { group in
            @Sendable func untilDone(_ work: () async throws -> Void) async {
                while !isDone.isSet {
                    // A shutdown or a new configuration makes calls in progress fail.
                    try? await work()
                    await Task.yield()
                }
            }
            for config in [config, config, other] {
                group.addTask {
                    var last = 0
                    while !isDone.isSet {
                        last = check(config.snapshot(), atLeast: last)
                        _ = config["key1"].stringValue
                        reads.add(last)
                        try? await Task.sleep(for: .microseconds(100))
                    }
                }
            }
            for config in [config, other] {
                group.addTask { await untilDone { try await config.fetch() } }
                group.addTask { await untilDone { try await config.fetchAndActivate() } }
                group.addTask { await untilDone { try await config.activate() } }
                group.addTask {
                    var number = 0
                    await untilDone {
                        number += 1
                        try await config.setCustomSignals(["s\(number % 7)": number % 3 == 0 ? nil : .integer(number)])
                        if number % 5 == 0 { try config.markStale() }
                        _ = config.status.description
                        config.setDefaults(["default": 7])
                    }
                }
                group.addTask {
                    await untilDone {
                        let (removed, removedOnMain) = (Flag(), Flag())
                        let queue = DispatchQueue(label: "q")
                        let registration = config.addObserver(on: queue) { _ in
                            if removed.isSet { wrong.add("a call after remove()") }
                        }
                        let listener = config.addOnConfigUpdateListener { _, _ in
                            if removedOnMain.isSet { wrong.add("a call after remove()") }
                        }
                        try await Task.sleep(for: .milliseconds(Int.random(in: 0..<5)))
                        // Only on the listener's own queue does `remove()` guarantee that no call is in progress.
                        queue.sync {
                            registration.remove()
                            removed.set()
                        }
                        await MainActor.run {
                            listener.remove()
                            removedOnMain.set()
                        }
                    }
                }
            }
            group.addTask {
                var number = 0
                await untilDone {
                    number += 1
                    try service.updateConfig(config: configuration(number.isMultiple(of: 2) ? "a" : "b"))
                    config.configSettings = RemoteConfigSettings(minimumFetchInterval: 0, fetchesPerHour: .max)
                    try await Task.sleep(for: .milliseconds(20))
                }
            }
            group.addTask {
                let end = ContinuousClock.now + .seconds(Self.setting("RC_SECONDS", else: 3))
                var number = 0
                // On a busy machine, readers need longer to read a few different states.
                while ContinuousClock.now < end || Set(reads.all).count <= 3 {
                    number += 1
                    published.add(number)
                    try Self.write(number, place)
                    try await Task.sleep(for: .milliseconds(10))
                }
                service.shutdown()
                try await Task.sleep(for: .milliseconds(50))
                isDone.set()
            }
            try await group.waitForAll()
        }
        #expect(wrong.all.isEmpty, "\(wrong.all.prefix(5))")
        #expect(Set(reads.all).isSubset(of: published.all))
        await #expect(throws: RemoteConfigError.self) { try await config.fetch() }
        // Another process can continue from the stored state.
        let later = place.start { $0.packaged = [packaged] }
        later.setDefaults(["default": 7])
        _ = check(later.snapshot(), atLeast: 0)
        try later.markStale()
        place.pass(hours: 5)
        try await later.fetchAndActivate()
        #expect(check(later.snapshot(), atLeast: 0) == published.all.last)
        #expect(wrong.all.isEmpty)
    }

    /// After a fetching and activating process is killed at a random moment, the next one reads a complete published
    /// state that is no older than the one read before.
    @Test(.timeLimit(.minutes(10))) func killedConfigProcessLeavesPublishedState() async throws {
        let listener = try LoopbackListener()
        let place = try ConfigPlace(address: "http://127.0.0.1:\(listener.port)")
        listener.serve { [server = place.server] connection in
            while let request = try connection.nextRequest() {
                let reply = try server.reply(to: request.target, headers: HTTPHeaders())
                let fields = reply.headers.fields.filter { $0.name != "Content-Length" }
                try connection.answer("\(reply.status) Answer", reply.body, fields.map { ($0.name, $0.value) })
            }
        }
        func start(rounds: Int, storage: String? = nil) throws -> (Process, Pipe) {
            let (process, pipe) = (Process(), Pipe())
            process.executableURL = TestProcess.url
            process.arguments = [
                "config", storage ?? place.storage, place.server.url, place.server.root.roots[0].hex,
                place.collection.name, "\(rounds)",
            ]
            process.standardOutput = pipe
            process.standardError = FileHandle.nullDevice
            try process.run()
            return (process, pipe)
        }
        try Self.write(0, place)
        // Kill times are relative to the duration of one round, which is longer on a busy machine.
        let began = ContinuousClock.now
        try start(rounds: 1, storage: "\(place.storage)-timed").0.waitUntilExit()
        let roundTime = ContinuousClock.now - began
        var number = 0
        var last = -1
        var seen: Set<Int> = []
        for round in 0..<Self.setting("RC_KILLS", else: 12) {
            let (process, _) = try start(rounds: 1_000_000)
            let end = ContinuousClock.now + roundTime * Double.random(in: 0.1..<2.5)
            while ContinuousClock.now < end {
                number += 1
                try Self.write(number, place)
                try await Task.sleep(for: .milliseconds(Int.random(in: 1..<6)))
            }
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
            let (reader, pipe) = try start(rounds: 0)
            let words = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self).split {
                $0.isWhitespace
            }
            reader.waitUntilExit()
            #expect(reader.terminationStatus == 0)
            if words == ["0"], last < 0 { continue }
            guard words.count == 2, let state = Int(words[0]), words[1] == "\(Self.keys.count)" else {
                Issue.record("round \(round): \(words)")
                continue
            }
            #expect(state >= last && state <= number)
            last = state
            seen.insert(state)
        }
        #expect(!seen.isEmpty)
        // Leftover files are harmless.
        let (process, pipe) = try start(rounds: 1)
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(text == "\(number) \(Self.keys.count)\n")
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(place.storage)/states").count == 1)
    }
}
