import Foundation
import RemoteSettingsHTTP
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing

@testable import RemoteSettings

/// The update channel of a service, with a clock and an update source controlled by the test. `UpdateTimingTests`
/// check when connections and requests are made.
@Suite(.timeLimit(.minutes(10 * slowness))) struct UpdateChannelTests {
    let place: Workplace
    let time = SteppedTime(chance: 0.5)
    let source = ScriptedUpdates()
    let collection: ServerCollection

    init() throws {
        place = try Workplace()
        collection = try place.collection()
        try collection.put("a", ["value": 1])
    }

    private func service(_ change: (inout RemoteSettingsConfig) -> Void = { _ in }) -> RemoteSettingsService {
        place.service { config in
            config.environment = time.environment
            config.updates = .init(source: source)
            change(&config)
        }
    }

    /// Waits in real time for work that needs processor time, while the library's clock stands still.
    private func eventually(_ holds: () throws -> Bool) async throws -> Bool {
        for number in 1...3000 * slowness {
            if try holds() { return true }
            try await Task.sleep(for: .milliseconds(10))
            // A task that started to sleep after the clock was moved would never wake up.
            if number.isMultiple(of: 200) { await time.pass(.milliseconds(500)) }
        }
        return false
    }

    private func monitor() throws -> Timestamp { try place.server.monitorTimestamp() }

    /// A service with an open channel and the server's current state.
    private func listening(
        _ change: (inout RemoteSettingsConfig) -> Void = { _ in }
    ) async throws -> (RemoteSettingsService, RemoteSettingsClient) {
        let service = service(change)
        let client = service.makeClient(collectionName: collection.id)
        try await service.sync()
        source.greet(.event(.update(timestamp: try monitor(), collections: nil)))
        service.startUpdates()
        await time.settle()
        #expect(service.updateStatus == .open)
        return (service, client)
    }

    // MARK: Opening a connection

    /// An invalid channel is reported, not treated as unconfigured.
    @Test(arguments: ["not a URL", "ftp://example.org/updates", ""])
    func invalidEventStreamURLIsReported(_ url: String) async throws {
        let service = service { $0.updates = .init(channel: .eventStream(url: url)) }
        let told = Mutex<[(kind: UpdateEnd.Kind, status: UpdateStatus?)]>([])
        let listening = service.makeClient(collectionName: collection.id).listenForUpdates { [weak service] problem in
            guard case .noConnection(let error) = problem else { return }
            told.withLock { $0.append((error.kind, service?.updateStatus)) }
        }
        #expect(try await eventually { told.withLock { !$0.isEmpty } })
        #expect(told.withLock { $0.map(\.kind) } == [.unsupported])
        // The listener finds the same problem in the update status.
        guard case .waiting(let reason) = told.withLock({ $0.first?.status }) else {
            return #expect(Bool(false), "\(told.withLock { $0 })")
        }
        #expect(reason.contains("invalid URL"))
        withExtendedLifetime(listening) {}
    }

    /// If one stream ends while another begins, the new one keeps the channel open.
    @Test func overlappingChangesStreamsKeepChannelOpen() async throws {
        let service = service()
        let client = service.makeClient(collectionName: collection.id)
        var present = client.changes()
        for _ in 0..<300 {
            let ending = present
            let reader = Task { for await _ in ending {} }
            async let next = Task { client.changes() }.value
            reader.cancel()
            await reader.value
            present = await next
            #expect(service.updateStatus != .idle)
        }
        withExtendedLifetime(present) {}
    }

    // MARK: Syncs

    @Test func announcementIsSyncedAfterJitter() async throws {
        let (service, client) = try await listening()
        let before = place.server.polls.count
        try collection.put("a", ["value": 2])
        let announced = try monitor()
        source.announce(announced, [collection.collection])
        await time.pass(.milliseconds(200))
        #expect(place.server.polls.count == before)
        await time.pass(.milliseconds(100))
        #expect(try await eventually { state(of: client)?["a"] == announced.milliseconds })
        #expect(place.server.polls.dropFirst(before) == ["?_expected=\(announced)"])
        // A state that the client already has is not requested again.
        source.announce(announced)
        source.announce(Timestamp(milliseconds: announced.milliseconds - 1))
        await time.pass(.seconds(600))
        #expect(place.server.polls.count == before + 1)
        withExtendedLifetime(service) {}
    }

    @Test func announcementsWithoutClientAreIgnored() async throws {
        let (service, _) = try await listening()
        let before = place.server.polls.count
        let other = try place.collection()
        for value in 0..<20 {
            try other.put("b", ["value": value])
            source.announce(try monitor(), [other.collection])
            await time.pass(.seconds(10))
        }
        #expect(place.server.polls.count == before)
        withExtendedLifetime(service) {}
    }

    /// After a reconnect, the first event may list only the latest collections, but all missed changes are synced.
    @Test func firstEventSyncsAllMissedChanges() async throws {
        let (_, client) = try await listening()
        let other = try place.collection()
        source.end()
        try collection.put("a", ["value": 2])
        let missed = try monitor()
        try other.put("b")
        let last = try monitor()
        source.greet(.event(.update(timestamp: last, collections: [other.collection])))
        await time.pass(.seconds(10))
        #expect(try await eventually { state(of: client)?["a"] == missed.milliseconds })
    }

    @Test func updateChannelObeysBackoff() async throws {
        let (_, client) = try await listening()
        place.server.inject([Fault("monitor", effect: .status(503), headers: ["Retry-After": "600"], times: 1)])
        try collection.put("a", ["value": 2])
        source.announce(try monitor())
        let before = place.server.polls.count
        // On a busy machine, the announcement is read late.
        for _ in 0..<1000 where place.server.polls.count == before { await time.pass(.milliseconds(1)) }
        await time.pass(.seconds(595))
        #expect(place.server.polls.count == before + 1)
        #expect(state(of: client)?["a"] != (try monitor().milliseconds))
        await time.pass(.seconds(60))
        #expect(try await eventually { try state(of: client)?["a"] == monitor().milliseconds })
    }

    @Test func pushMessagesWorkWithoutAChannel() async throws {
        let service = service { $0.updates.channel = .off }
        let client = service.makeClient(collectionName: collection.id)
        try await service.sync()
        try collection.put("a", ["value": 2])
        let before = place.server.polls.count
        #expect(!service.handlePushMessage(["aps": ["content-available": 1]]))
        #expect(service.handlePushMessage(["timestamp": "5"]))
        #expect(service.handlePushMessage(["CONFIG_STATE": "STALE", "collection": "another"]))
        await time.pass(.seconds(60))
        #expect(place.server.polls.count == before)
        #expect(service.handlePushMessage(["timestamp": "\"\(try monitor())\""]))
        await time.pass(.seconds(3))
        #expect(try await eventually { try state(of: client)?["a"] == monitor().milliseconds })
        // Without a timestamp, only a sync can tell whether there is something new.
        #expect(service.handlePushMessage(["CONFIG_STATE": "stale", "collection": collection.name]))
        await time.pass(.seconds(3))
        #expect(try await eventually { place.server.polls.count == before + 2 })
        #expect(source.connects == 0)
    }

    // MARK: Listeners

    @Test func listenersShareOneConnection() async throws {
        let service = service()
        let other = try place.collection()
        let first = service.makeClient(collectionName: collection.id)
        let second = service.makeClient(collectionName: other.id)
        #expect(service.updateStatus == .idle && source.connects == 0)
        let changes = (first.changes(), second.changes(), first.changes())
        let tasks = [changes.0, changes.1, changes.2].map { stream in Task { for await _ in stream {} } }
        let listening = first.listenForUpdates { _ in }
        await time.settle()
        #expect(source.open == 1 && source.connects == 1)
        for task in tasks { task.cancel() }
        await time.settle()
        #expect(source.open == 1)
        withExtendedLifetime(listening) {}
        await time.settle()
        service.startUpdates()
        await time.settle()
        service.stopUpdates()
        await time.settle()
        #expect(source.most == 1)
    }

    @Test func lastListenerClosesConnection() async throws {
        let service = service()
        let client = service.makeClient(collectionName: collection.id)
        var listening: [Subscription] = [client.listenForUpdates { _ in }, client.listenForUpdates { _ in }]
        await time.settle()
        #expect(source.open == 1)
        listening.removeLast()
        await time.settle()
        #expect(source.open == 1)
        listening.removeAll()
        await time.settle()
        #expect(source.open == 0 && service.updateStatus == .idle)
        let task = Task { for await _ in client.changes() {} }
        await time.settle()
        #expect(source.open == 1)
        client.shutdown()
        await time.settle()
        #expect(source.open == 0)
        await task.value
        service.startUpdates()
        await time.settle()
        #expect(source.open == 1)
        service.shutdown()
        await time.settle()
        #expect(source.open == 0)
    }

    @Test func releasedServiceClosesConnection() async throws {
        var service: RemoteSettingsService? = service()
        service?.startUpdates()
        await time.settle()
        #expect(source.open == 1)
        service = nil
        await time.settle()
        #expect(source.open == 0)
    }

    /// The streams of a released client end and do not keep the connection open, even while they are being read.
    @Test func releasedClientClosesConnection() async throws {
        var client: RemoteSettingsClient? = service().makeClient(collectionName: collection.id)
        let streams = try #require(client.map { ($0.changes(), $0.recordUpdates()) })
        let readers = [Task { for await _ in streams.0 {} }, Task { for await _ in streams.1 {} }]
        await time.settle()
        #expect(source.open == 1)
        client = nil
        for reader in readers { await reader.value }
        await time.settle()
        #expect(source.open == 0)
    }

    @Test func updateChannelPauseAndResume() async throws {
        let (service, client) = try await listening()
        service.pauseUpdates()
        await time.settle()
        #expect(source.open == 0 && service.updateStatus == .paused)
        try collection.put("a", ["value": 2])
        source.greet(.event(.update(timestamp: try monitor(), collections: nil)))
        await time.pass(.seconds(86_400))
        #expect(source.connects == 1)
        service.resumeUpdates()
        await time.pass(.seconds(5))
        #expect(source.open == 1 && source.most == 1)
        #expect(try await eventually { try state(of: client)?["a"] == monitor().milliseconds })
    }

    @Test func configurationChangeReplacesUpdateChannel() async throws {
        let (service, _) = try await listening()
        let other = ScriptedUpdates()
        try service.updateConfig(
            config: place.config { config in
                config.environment = time.environment
                config.updates = .init(source: other)
            })
        await time.settle()
        #expect(source.open == 0 && other.open == 1)
        try service.updateConfig(config: place.config { $0.updates = .off })
        await time.settle()
        #expect(other.open == 0 && service.updateStatus == .idle)
    }

    // MARK: Failures

    private let down = Failure("https://h/updates", .unreachable("the server is down"))

    @Test func reconnectPausesDoubleAndFailureIsReported() async throws {
        let problems = Mutex<[UpdateProblem]>([])
        source.refuse(down)
        let service = service()
        let client = service.makeClient(collectionName: collection.id)
        let listening = client.listenForUpdates { problem in problems.withLock { $0.append(problem) } }
        await time.settle()
        #expect(source.connects == 1)
        for tries in 1...11 {
            #expect(problems.withLock { $0.isEmpty } && service.updateStatus == .waiting(reason: "\(down)"))
            await time.pass(.seconds(5 << (tries - 1)))
            #expect(source.connects == tries + 1)
        }
        #expect(service.updateStatus == .givenUp(reason: "\(down)"))
        #expect(problems.withLock { $0 } == [.noConnection(UpdateEnd(notOpened: down))])
        // A network change or a successful sync starts another attempt. Listeners are not notified again.
        service.networkChanged()
        await time.pass(.seconds(60))
        #expect(source.connects == 13)
        // There is also an attempt every few hours.
        await time.pass(.seconds(14_400))
        #expect(source.connects == 14)
        try await service.sync()
        await time.settle()
        #expect(source.connects == 15)
        #expect(problems.withLock { $0.count } == 1)
        source.refuse(nil)
        service.networkChanged()
        await time.pass(.seconds(60))
        #expect(service.updateStatus == .open)
        withExtendedLifetime(listening) {}
    }

    @Test func reconnectFailuresAreKeptAcrossStarts() async throws {
        source.refuse(down)
        for start in 1...7 {
            let service = service()
            service.startUpdates()
            await time.settle()
            // The pause of the previous start has not ended yet.
            #expect(source.connects == start - (start == 1 ? 0 : 1), "start \(start)")
            if start > 1 { await time.pass(.seconds(5 << (start - 2))) }
            #expect(source.connects == start)
            service.shutdown()
            await time.settle()
        }
        #expect(try place.files.index().updates?.failures == 7)
        // A success resets the failures and the pause.
        await time.pass(.seconds(14_400))
        source.refuse(nil)
        let (service, _) = try await listening()
        source.send(.heartbeat)
        await time.pass(.seconds(61))
        source.send(.heartbeat)
        await time.settle()
        #expect(try place.files.index().updates?.failures == 0)
        service.shutdown()
        // Damaged entries, entries of another channel and impossible times are ignored.
        for text in [
            "", "{", "[]", #"{"channel":"x","failures":8,"next":99999999999999}"#,
            String(repeating: "x", count: 70_000),
            #"{"channel":"ScriptedUpdates of https://settings.test","failures":3,"next":99999999999999}"#,
            #"{"channel":"ScriptedUpdates of https://settings.test","failures":-3,"next":"x"}"#,
            #"{"channel":"ScriptedUpdates of https://settings.test","failures":18446744073709551615}"#,
        ] {
            try place.files.write(#"{"format":1,"updates":\#(text)}"#)
            let before = source.connects
            let service = self.service()
            service.startUpdates()
            await time.settle()
            #expect(source.connects == before + 1, "\(text.prefix(100))")
            service.shutdown()
            await time.settle()
        }
    }
}
