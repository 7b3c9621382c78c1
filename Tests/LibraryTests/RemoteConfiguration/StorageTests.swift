import Foundation
import RemoteConfiguration
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing

/// Remote config's state in the index file: damage, tampering and concurrent processes.
struct StorageTests {
    let place: ConfigPlace

    init() throws { place = try ConfigPlace() }

    private var file: URL { URL(fileURLWithPath: place.indexFile) }

    /// If the index is damaged or truncated at any byte, values come from a published state, and the next fetch and
    /// activation repair it.
    @Test func damagedConfigIndexIsRepaired() async throws {
        try place.put("a", 1)
        let packaged = try await place.package()
        func start() -> RemoteConfig { place.start { $0.packaged = [packaged] } }
        try place.put("a", 2)
        try await start().fetchAndActivate()
        let whole = try Data(contentsOf: file)
        #expect(start().text("a") == "2")
        var outcomes: [String: Int] = [:]
        for position in stride(from: 0, to: whole.count, by: max(1, whole.count / 150)) {
            var damaged = whole
            damaged[position] ^= 0x15
            try damaged.write(to: file)
            let value = start().text("a")
            outcomes[value, default: 0] += 1
            try whole.prefix(position).write(to: file)
            outcomes[start().text("a"), default: 0] += 1
        }
        #expect(Set(outcomes.keys).isSubset(of: ["1", "2"]))
        #expect(outcomes["1", default: 0] > 100, "\(outcomes)")
        let config = start()
        try await config.fetchAndActivate()
        #expect(config.text("a") == "2" && start().text("a") == "2")
    }

    /// An index written by a later version of the library is not modified.
    @Test func configIndexOfLaterFormatIsKept() async throws {
        try place.put("a", 1)
        try place.put("a", 2, id: "a1", filter: "env.plan == 'pro'")
        try await place.start().fetchAndActivate()
        let later = Data(#"{"format":2,"new":{}}"#.utf8)
        try later.write(to: file)
        let config = place.start()
        try await config.setCustomSignals(["plan": "pro"])
        try await config.fetchAndActivate()
        #expect(config.text("a") == "2")
        #expect(try Data(contentsOf: file) == later)
    }

    /// An index that is temporarily unreadable is not overwritten, and is used again afterwards.
    @Test func unreadableConfigIndexIsKept() async throws {
        try place.put("a", 1)
        try place.put("a", "pro", id: "a1", filter: "env.plan == 'pro'")
        let first = place.start()
        try await first.setCustomSignals(["plan": "pro"])
        try await first.fetchAndActivate()
        #expect(first.text("a") == "pro")
        // A symbolic link to itself cannot be opened.
        try FileManager.default.moveItem(atPath: place.storage, toPath: place.storage + ".aside")
        try FileManager.default.createSymbolicLink(atPath: place.storage, withDestinationPath: place.storage)
        let config = place.start()
        #expect(config["a"].source == .static && "\(config.status.problems)".contains(place.storage))
        await #expect(throws: RemoteConfigCustomSignalsError.self) { try await config.setCustomSignals(["b": "c"]) }
        try await config.activate()
        #expect(config["a"].source == .static)
        try FileManager.default.removeItem(atPath: place.storage)
        try FileManager.default.moveItem(atPath: place.storage + ".aside", toPath: place.storage)
        try await config.activate()
        #expect(config.text("a") == "pro" && place.start().text("a") == "pro")
    }

    /// Signals too large for the index are refused even within the character limit: a character can have any number of
    /// bytes.
    @Test func hugeCustomSignalsAreRefused() async throws {
        try place.put("a", 1)
        let config = place.start()
        try await config.setCustomSignals(["plan": "pro"])
        try await config.fetchAndActivate()
        let long = String(repeating: "e" + String(repeating: "\u{301}", count: 30_000), count: 100)
        #expect(long.count == 100)
        await #expect(throws: RemoteConfigCustomSignalsError.self) {
            try await config.setCustomSignals(["name": .string(long)])
        }
        try await config.setCustomSignals(["other": 1])
        #expect(place.start { $0.transport = NoNetwork() }.text("a") == "1")
        #expect(try String(decoding: Data(contentsOf: file), as: UTF8.self).contains("\"pro\""))
    }

    /// A backoff longer than any that the library or a server can request must be forged, and is ignored.
    @Test func forgedBackoffInIndexIsIgnored() async throws {
        try place.put("a", 1)
        place.server.inject([Fault("/changeset", effect: .status(500))])
        await #expect(throws: RemoteConfigError.self) { try await place.start { $0.limits.all.tries = 1 }.fetch() }
        place.server.inject([])
        try place.changeState { state in
            #expect(state["heldUntil"] != nil)
            (state["heldSince"], state["heldUntil"]) = (0, UInt64.max)
        }
        let config = place.start()
        #expect(config.status.holdReason == nil)
        try await config.fetchAndActivate()
        #expect(config.text("a") == "1")
    }

    /// A state with an invalid signature, or of a different collection or server, is never used.
    @Test func foreignConfigStateIsRefused() async throws {
        try place.put("a", "good")
        try await place.start().fetchAndActivate()
        let good = try String(contentsOf: place.activatedFile(), encoding: .utf8)
        #expect(good.contains("\"good\""))
        try place.replaceActivated(by: good)
        #expect(place.start().text("a") == "good")
        for (old, new) in [
            ("\"good\"", "\"evil\""), (place.collection.id, "main/other00"),
            ("settings.test", "evil.test"),
        ] {
            try place.replaceActivated(by: good.replacing(old, with: new))
            let config = place.start()
            #expect(config["a"].source == .static, "\(new)")
            #expect(!config.status.problems.isEmpty)
            try await config.fetchAndActivate()
            #expect(config.text("a") == "good")
        }
        // A directory in place of the index does not make a start fail.
        try FileManager.default.removeItem(at: self.file)
        try FileManager.default.createDirectory(at: self.file, withIntermediateDirectories: true)
        #expect(place.start()["a"].source == .static)
    }

    /// A forged snapshot with a later timestamp does not block the genuine one: one activation restores the file, even
    /// if another process replaced it while this one was running.
    @Test func forgedActivatedTimestampIsNoFloor() async throws {
        try place.put("a", "good")
        let config = place.start()
        try await config.fetchAndActivate()
        let snapshot = try String(contentsOf: place.activatedFile(), encoding: .utf8)
        let timestamp = try "\(place.collection.timestamp())"
        for forged in ["9007199254740991", "18446744073709551615", "\(UInt64(timestamp).map { $0 + 1 } ?? 0)"] {
            for config in [config, place.start()] {
                try place.replaceActivated(by: snapshot.replacing(timestamp, with: forged))
                #expect(place.start { $0.transport = NoNetwork() }["a"].source == .static)
                _ = config.text("a")
                try await config.activate()
                #expect(config.text("a") == "good")
                #expect(try String(contentsOf: place.activatedFile(), encoding: .utf8) == snapshot)
                #expect(place.start { $0.transport = NoNetwork() }.text("a") == "good")
            }
        }
        // The same if a new state is published after the forgery.
        try place.replaceActivated(by: snapshot.replacing(timestamp, with: "9007199254740991"))
        try place.put("a", "better")
        try await config.fetchAndActivate()
        #expect(place.start { $0.transport = NoNetwork() }.text("a") == "better")
    }

    /// A process with an older state neither loses nor reverts what another process has activated.
    @Test func newerActivationOfOtherProcessIsKept() async throws {
        try place.put("a", 1)
        let (config, other) = (place.start(), place.start())
        try await config.fetchAndActivate()
        try place.put("a", 2)
        try await other.fetchAndActivate()
        // Leaves the other process's activation as the only copy of the newer state.
        try place.changeEntry { $0["synced"] = nil }
        let whole = try Data(contentsOf: file)
        #expect(try await config.activate())
        #expect(config.text("a") == "2")
        #expect(try Data(contentsOf: file) == whole)
    }

    /// Forged request counts, which the library never writes, cannot block fetches forever.
    @Test func forgedFetchCountsAreIgnored() async throws {
        try place.put("a", 1)
        try await place.start(perHour: 3).fetchAndActivate()
        let minute = place.now.milliseconds / 60_000
        for forged: [Any] in [
            [minute, UInt64.max], [minute - 3, UInt64.max, minute, UInt64.max], [minute + 5, 1000], [UInt64.max, 1000],
            [minute, -1], [minute, 0.5], ["x", "y"], [minute], [minute, 5, minute - 1, 5],
            Array(repeating: minute, count: 200),
        ] {
            try place.changeState {
                ($0["fetches"], $0["announcedFetches"], $0["failures"]) = (forged, forged, UInt64.max)
            }
            let config = place.start(perHour: 3)
            #expect(config.text("a") == "1")
            if (try? await config.fetch()) == nil {
                place.pass(seconds: 3661)
                #expect(try await place.start(perHour: 3).fetch() == .success)
                place.pass(seconds: -3661)
            }
        }
    }

    /// Signals that cannot be stored do not take effect, not even in the current process.
    @Test func unstorableSignalsAreNotInForce() async throws {
        try place.put("a", "no")
        try place.put("a", "yes", id: "a1", filter: "env.plan == 'pro'")
        let config = place.start()
        try await config.fetchAndActivate()
        // A directory with the name of the index's temporary file prevents writing the index.
        let temporary = "\(place.indexFile).tmp"
        try FileManager.default.createDirectory(atPath: temporary, withIntermediateDirectories: true)
        await #expect(throws: RemoteConfigCustomSignalsError.self) {
            try await config.setCustomSignals(["plan": "pro"])
        }
        // A failed fetch still starts a backoff in this process.
        place.server.inject([Fault("changeset", effect: .status(500))])
        await #expect(throws: RemoteConfigError.self) { try await config.fetch(withExpirationDuration: 0) }
        #expect(config.status.holdReason != nil)
        try FileManager.default.removeItem(atPath: temporary)
        try await config.activate()
        #expect(config.text("a") == "no")
        // The next successful write also stores the backoff.
        try config.markStale()
        #expect(place.start().status.holdReason != nil && place.start().status.isStale)
    }

    /// An app and its extension share a directory: signals, stale marks and activations apply to both.
    @Test func configProcessesShareStorage() async throws {
        try place.put("a", 1)
        try place.put("s", "no")
        try place.put("s", "yes", id: "s1", filter: "env.plan == 'pro'")
        let (app, other) = (place.start(interval: 3600), place.start(interval: 3600))
        try await app.fetchAndActivate()
        try await other.ensureInitialized()
        #expect(other.text("a") == "1")
        try place.put("a", 2)
        try await app.setCustomSignals(["plan": "pro"])
        try await app.fetchAndActivate()
        #expect(app.text("a") == "2" && app.text("s") == "yes" && other.text("a") == "1")
        let asked = place.requests
        try await other.fetch()
        #expect(place.requests == asked, "the interval applies to both")
        #expect(try await other.activate())
        #expect(other.text("a") == "2" && other.text("s") == "yes")
        try other.markStale()
        #expect(app.status.isStale)
        try await app.fetch()
        #expect(!other.status.isStale)
        place.server.inject([Fault("changeset", effect: .status(500))])
        _ = try? await app.fetch(withExpirationDuration: 0)
        let held = place.requests
        await #expect(throws: RemoteConfigError.self) { try await other.fetch(withExpirationDuration: 0) }
        #expect(place.requests == held)
    }

    /// With two processes at once, no signal is lost and no value reverts to an older one.
    @Test func concurrentConfigProcessesLoseNothing() async throws {
        try place.put("a", 0)
        let (app, other) = (place.start(), place.start())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (name, config) in [("app", app), ("other", other)] {
                group.addTask {
                    var last = -1
                    for round in 1...25 {
                        if name == "app" { try place.put("a", round) }
                        try await config.setCustomSignals(["\(name)\(round)": .integer(round)])
                        try await config.fetchAndActivate()
                        let value = config["a"].numberValue.intValue
                        #expect(value >= last)
                        last = value
                    }
                }
            }
            try await group.waitForAll()
        }
        try place.put("n", "lost")
        let all = (1...25).map { "env.app\($0) == \($0) && env.other\($0) == \($0)" }.joined(separator: " && ")
        try place.put("n", "kept", id: "n1", filter: all)
        try await app.fetchAndActivate()
        #expect(app.text("n") == "kept" && app.text("a") == "25")
    }

    /// Whatever files the system purges, a start has a published state, and the next fetch gets the newest one even
    /// within the interval, which applies only while the fetched state is still stored.
    @Test func purgedConfigStorageIsFetchedAgain() async throws {
        try place.put("a", 1)
        let packaged = try await place.package()
        func start() -> RemoteConfig { place.start(interval: 43_200) { $0.packaged = [packaged] } }
        try place.put("a", 2)
        try await start().fetchAndActivate()
        try place.put("a", 3)
        place.pass(hours: 13)
        try await start().fetch()
        try await forEachPurge(of: place.storage) { purged in
            let config = start()
            #expect(["1", "2"].contains(config.text("a")), "\(purged)")
            try await config.fetchAndActivate()
            #expect(config.text("a") == "3" && start().text("a") == "3", "\(purged)")
        }
    }

    /// Resetting the collection or all storage deletes remote config's state, which includes signals about the user.
    /// Resetting all storage does so even if nothing was ever synced.
    @Test(arguments: [true, false]) func resetForgetsConfigState(isOfAll: Bool) async throws {
        try place.put("a", 1)
        let service = RemoteSettingsService(storageDirectory: place.storage, config: place.config())
        let config = RemoteConfig(collection: place.collection.name, service: service)
        try await config.setCustomSignals(["plan": "pro"])
        #expect(try place.kept() != nil)
        if isOfAll {
            try await service.resetStorage()
        } else {
            try await config.fetchAndActivate()
            try await service.makeClient(collectionName: place.collection.name).resetStorage()
        }
        #expect(try place.entry().isEmpty && place.kept() == nil)
        #expect(place.start()["a"].source == .static)
    }

    /// After a change of server, the next activation drops the active state. Listeners are notified of the new server's
    /// state even if it is older, because timestamps of different servers are not comparable.
    @Test func serverChangeDropsActiveConfig() async throws {
        try place.put("a", "first")
        let second = try OriginTransport(address: "https://second.test")
        try second.makeCollection(id: place.collection.id).load(
            ["a": #"{"id":"a","key":"a","value":"second","last_modified":1700000000000}"#], files: [],
            timestamp: Timestamp(milliseconds: 1_700_000_000_000))
        let service = RemoteSettingsService(storageDirectory: place.storage, config: place.config())
        let config = RemoteConfig(
            collection: place.collection.name, service: service,
            settings: RemoteConfigSettings(minimumFetchInterval: 0, fetchesPerHour: .max))
        try await config.fetchAndActivate()
        #expect(config.text("a") == "first")
        var updates = config.configUpdates.makeAsyncIterator()
        try service.updateConfig(
            config: place.config {
                $0.server = .custom(url: second.url)
                $0.transport = second
            })
        #expect(config.text("a") == "first")
        try await config.fetch()
        #expect(try await updates.next()?.updatedKeys == ["a"])
        try await config.activate()
        #expect(config.text("a") == "second")
    }
}
