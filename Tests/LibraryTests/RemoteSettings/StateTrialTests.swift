@testable import RemoteSettings
import Foundation
import RemoteSettingsModel
import SnapshotBundle
import Testing

/// Simulates how often devices fail to start with a correctly signed but bad state. Each device uses the real
/// `StateTrial`, but its storage is in memory and imitates the rules of `CollectionSync` and `SnapshotChoice`.
/// `RemoteSettingsSafeStartTests` checks them with real files.
@Suite struct StateTrialTests {
    private static func state(_ number: UInt64) -> StateTrial.State {
        StateTrial.State(
            timestamp: Timestamp(milliseconds: number), payload: SHA256Digest(hashing: Bytes(utf8: "\(number)")))
    }

    private static let (packaged, first, poisoned, repaired) = (state(1), state(2), state(3), state(4))

    private struct Device {
        var trial = StateTrial()
        var cached: StateTrial.State?
        var previous: StateTrial.State?
        /// Whether each start reads the trial back from its JSON form in the index.
        var usesFile = false
        /// The state that each start served, and whether the start succeeded.
        var starts: [(served: StateTrial.State, isWell: Bool)] = []

        private var newest: StateTrial.State {
            guard !trial.usesPackagedOnly else { return StateTrialTests.packaged }
            if let cached, trial.refusal(of: cached) == nil { return cached }
            if let previous, trial.isGood(previous), trial.refusal(of: previous) == nil { return previous }
            return StateTrialTests.packaged
        }

        /// - Parameters:
        ///   - server: the state on the server.
        ///   - syncsFirst: whether a crashing app can sync before it crashes.
        ///   - isKilled: whether the app crashes with the state that it serves.
        mutating func start(server: StateTrial.State, syncsFirst: Bool, isKilled: (StateTrial.State) -> Bool) {
            if usesFile { trial = StateTrial(trial.json) }
            trial.settle()
            let served = newest
            trial.countStart(serving: served)
            let isWell = !isKilled(served)
            if isWell || syncsFirst { sync(server) }
            if isWell { trial.recordSuccess(of: served) }
            starts.append((served, isWell))
        }

        private mutating func sync(_ server: StateTrial.State) {
            guard trial.refusal(of: server) == nil, newest.timestamp < server.timestamp else { return }
            let isKeptGood = previous.map { trial.isGood($0) } ?? false
            if let cached, trial.isGood(cached) || !isKeptGood && trial.refusal(of: cached) == nil { previous = cached }
            cached = server
        }
    }

    /// Simulates a device that starts with a good state; then a poisoned state and a repaired one are published.
    private func live(_ number: Int, isKilled: (StateTrial.State) -> Bool) -> Device {
        var random = UInt64(number) &* 0x9E37_79B9_7F4A_7C15 | 1
        func chance(_ most: UInt64) -> Int {
            random ^= random << 13
            random ^= random >> 7
            random ^= random << 17
            return Int(random % most)
        }
        var device = Device(usesFile: number % 20 == 7)
        func starts(_ count: Int, with server: StateTrial.State) {
            for _ in 0..<count {
                device.start(server: server, syncsFirst: chance(2) == 0, isKilled: isKilled)
                // The file is damaged, so its information is lost.
                if number % 100 == 99, chance(4) == 0 { device.trial = StateTrial() }
            }
        }
        starts(1 + chance(3), with: Self.first)
        starts(1 + chance(8), with: Self.poisoned)
        starts(7, with: Self.repaired)
        return device
    }

    @Test func safeStartSimulationRecoversFleet() async {
        var (badStarts, poisonedDevices, tooOften, notRepaired, lostGoodData) = (0, 0, 0, 0, 0)
        for number in 0..<10_000 {
            // Let other tests run on the same threads.
            if number % 100 == 0 { await Task.yield() }
            let device = live(number) { $0 == Self.poisoned }
            let bad = device.starts.count { !$0.isWell }
            // One device in a hundred loses its file now and then.
            if number % 100 != 99, bad > StateTrial.startsOnTrial { tooOften += 1 }
            if device.starts.last?.served != Self.repaired { notRepaired += 1 }
            // No good data is lost: after the poisoned state, the last good one is served.
            for (before, after) in zip(device.starts, device.starts.dropFirst()) where number % 100 != 99 {
                if before.served == Self.poisoned, after.served != Self.poisoned, after.served != Self.repaired {
                    let hadFirst = device.starts.contains { $0.served == Self.first && $0.isWell }
                    if after.served != (hadFirst ? Self.first : Self.packaged) { lostGoodData += 1 }
                }
            }
            badStarts += bad
            poisonedDevices += bad > 0 ? 1 : 0
        }
        #expect((tooOften, notRepaired, lostGoodData) == (0, 0, 0))
        #expect(poisonedDevices > 5000)
        #expect(badStarts <= 3 * poisonedDevices + 200)
    }

    @Test func sixBadStartsLeadToPackagedOnly() {
        var device = Device()
        device.start(server: Self.first, syncsFirst: true) { _ in false }
        device.start(server: Self.poisoned, syncsFirst: true) { _ in false }
        // From now on the app crashes with any state, as after a bad update of the app.
        for _ in 0..<10 { device.start(server: Self.poisoned, syncsFirst: false) { _ in true } }
        let served = device.starts.dropFirst(2).map(\.served)
        #expect(
            served == Array(repeating: Self.poisoned, count: 3) + Array(repeating: Self.first, count: 3)
                + Array(repeating: Self.packaged, count: 4))
        device.start(server: Self.repaired, syncsFirst: false) { _ in false }
        #expect(device.starts.last?.served == Self.packaged, "the packaged state is used until a start succeeds")
        device.start(server: Self.repaired, syncsFirst: false) { _ in false }
        #expect(device.starts.last?.served == Self.repaired)
    }

    /// A state with which the app once started successfully is rejected only after six failed starts.
    @Test func goodStateIsRefusedAfterSixBadStarts() {
        var trial = StateTrial()
        trial.countStart(serving: Self.first)
        trial.recordSuccess(of: Self.first)
        for _ in 0..<5 {
            trial.settle()
            trial.countStart(serving: Self.first)
        }
        trial.settle()
        #expect(trial.refusal(of: Self.first) == nil && !trial.usesPackagedOnly)
        trial.countStart(serving: Self.first)
        trial.settle()
        #expect(trial.refusal(of: Self.first) != nil && trial.usesPackagedOnly)
    }

    /// An attacker with write access to the storage directory can change the file. Invalid content is harmless.
    @Test(arguments: [
        "", "{", "[]", "null", "\u{0}", #"{"failedStarts":-1}"#, #"{"failedStarts":1e300}"#,
        #"{"failedStarts":18446744073709551615,"servedStarts":18446744073709551615}"#,
        #"{"served":{"timestamp":"x","payload":"y"},"good":7,"rejected":[1,{"timestamp":1}]}"#,
        #"{"rejected":[{"timestamp":1,"payload":"00","reason":"short"}]}"#,
    ])
    func stateTrialReadsHostileFile(_ text: String) {
        var trial = StateTrial((try? JSONValue(parsing: Bytes(utf8: text))) ?? .null)
        trial.settle()
        trial.countStart(serving: Self.first)
        #expect(trial.refusal(of: Self.first) == nil)
        trial.recordSuccess(of: Self.first)
        #expect(!trial.usesPackagedOnly && trial.isGood(Self.first))
        #expect(StateTrial(trial.json) == trial)
    }

    /// A rejection applies to a timestamp and content: a different state with the same timestamp is not rejected.
    @Test func rejectionIsByTimestampAndPayload() {
        var trial = StateTrial()
        trial.reject(Self.poisoned, because: "bad")
        let other = StateTrial.State(timestamp: Self.poisoned.timestamp, payload: Self.first.payload)
        #expect(trial.refusal(of: Self.poisoned)?.reason == "bad" && trial.refusal(of: other) == nil)
    }

    /// The file does not grow with the number of rejected states.
    @Test func stateTrialFileIsBounded() {
        var trial = StateTrial()
        for number in 1...1000 {
            trial.reject(Self.state(UInt64(number)), because: String(repeating: "\u{1b}é", count: 1000), app: "app 1.0")
            trial.recordGood(Self.state(UInt64(number + 5000)))
        }
        #expect(JSONText.compact(trial.json).count < 1 << 16)
        #expect(StateTrial(trial.json) == trial)
        #expect(trial.refusal(of: Self.state(1000)) != nil && trial.refusal(of: Self.state(1)) == nil)
    }

    /// A character can consist of any number of bytes. A file above its size limit would be ignored, and a rejected
    /// state would be served again.
    @Test func stateTrialFileBoundsMultibyteReasons() throws {
        var trial = StateTrial()
        for character in ["\u{301}", "\"", "\u{7F}", "\u{E0001}"] {
            let reason = "a" + String(repeating: character, count: 100_000)
            for number in 0..<20 {
                trial.reject(Self.state(UInt64(number)), because: reason, app: StateTrial.bounded(reason))
                trial.recordGood(Self.state(UInt64(100 + number)))
            }
            #expect(JSONText.compact(trial.json).count < 1 << 16)
            let read = StateTrial(trial.json)
            #expect(read == trial && read.refusal(of: Self.state(19)) != nil)
        }
    }

    @Test func syncJournalIsBounded() throws {
        var journal = SyncJournal(of: "https://example.org")
        let id = try CollectionID("main/a")
        let attempt = SyncFailures.Attempt(
            at: Timestamp(milliseconds: 1), trigger: .timer, status: .networkError,
            error: "a" + String(repeating: "\u{301}", count: 1_000_000))
        for _ in 0..<12 { _ = journal.record(attempt, of: id) }
        journal.successes[id] = Timestamp(milliseconds: 1)
        let read = try #require(SyncJournal(journal.json))
        #expect(read.failures[id]?.count == 12 && read == journal)
        #expect(JSONText.compact(journal.json).count < 20_000)
    }
}
