import Foundation
import RemoteSettingsHTTP
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing

/// A clock that advances only when a task sleeps or a test moves it.
private final class Clock: Sendable {
    private let time: Mutex<RemoteSettingsTimestamp>

    init() { time = Mutex(HTTPEnvironment.system.now()) }

    var now: RemoteSettingsTimestamp { time.withLock { $0 } }
    func move(_ duration: Duration) { time.withLock { $0 = $0.advanced(by: duration) } }

    func environment(chance: Double) -> HTTPEnvironment {
        HTTPEnvironment(
            now: { self.now },
            sleep: { duration in
                try Task.checkCancellation()
                self.move(duration)
            }, random: { chance })
    }
}

/// Periodic syncs across restarts and processes.
@Suite struct SyncScheduleTests {
    static let day = Duration.seconds(86_400)
    let place: Workplace
    private let clock = Clock()
    private let collection: ServerCollection

    init() throws {
        place = try Workplace()
        collection = try place.collection("a")
    }

    /// Simulates a process that has just started, with a client.
    private func start(chance: Double = 0) -> (RemoteSettingsService, RemoteSettingsClient) {
        let service = place.service { $0.environment = clock.environment(chance: chance) }
        return (service, service.makeClient(collectionName: collection.name))
    }

    /// The number of monitor requests.
    private var asked: Int { place.server.polls.count }

    @Test func syncIfDueAsksOnceADay() async throws {
        for _ in 0..<600 {
            let (service, client) = start()
            _ = try await service.syncIfDue(every: Self.day)
            _ = client
            clock.move(Self.day / 200)
        }
        #expect(asked == 3)
    }

    @Test func syncsLoopAsksOncePerInterval() async throws {
        let (service, client) = start(chance: 0.5)
        let began = clock.now
        var count = 0
        for await result in service.syncs(every: Self.day) {
            #expect(try result.get().map(\.collection) == [client.collectionName].map { "main/\($0)" })
            count += 1
            if count == 5 { break }
        }
        // A random delay of up to a tenth is added to each interval; here it is half of that.
        #expect(clock.now.elapsed(since: began).components.seconds == 362_880)
        #expect(asked == 5)
    }

    @Test func scheduleRetryPausesDouble() async throws {
        place.server.setOffline(true)
        let (service, client) = start()
        var pauses: [Duration] = []
        var last = clock.now
        for await result in service.syncs(every: .seconds(3600)) {
            pauses.append(clock.now.elapsed(since: last))
            last = clock.now
            if pauses.count == 9 { place.server.setOffline(false) }
            if case .success = result { break }
        }
        #expect(pauses.map(\.components.seconds) == [0, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600])
        #expect(client.records?.count == 1)
        clock.move(.seconds(3599))
        #expect(try await service.syncIfDue(every: .seconds(3600)) == nil)
        clock.move(.seconds(1))
        #expect(try await service.syncIfDue(every: .seconds(3600)) != nil)
    }

    @Test func scheduleRetryPausesSurviveRestarts() async throws {
        place.server.setOffline(true)
        var tries = 0
        for _ in 0..<200 {
            let (service, client) = start()
            do {
                if try await service.syncIfDue(every: Self.day) != nil { tries += 1 }
            } catch {
                tries += 1
            }
            _ = client
            clock.move(Self.day / 200)
        }
        // The pauses are 1, 2, 4 … minutes: eleven tries fit in a day.
        #expect(tries == 11)
    }

    @Test func partialFailureIsRetriedBySchedule() async throws {
        let other = try place.collection("x")
        let (service, client) = start()
        let second = service.makeClient(collectionName: other.name)
        place.server.inject([Fault("/\(other.name)/", effect: .status(500))])
        let results = try #require(try await service.syncIfDue(every: Self.day))
        #expect(results.count { $0.isSynced } == 1)
        clock.move(.seconds(61))
        place.server.inject([])
        #expect(try await service.syncIfDue(every: Self.day)?.count == 2)
        #expect(try await service.syncIfDue(every: Self.day) == nil)
        _ = (client, second)
    }

    @Test func scheduleIsSharedByTwoProcesses() async throws {
        let (one, first) = start()
        let (other, second) = start()
        async let a = one.syncIfDue(every: Self.day)
        async let b = other.syncIfDue(every: Self.day)
        let results = try await [a, b]
        #expect(results.count { $0 != nil } == 1)
        #expect(asked == 1)
        _ = (first, second)
    }

    @Test func scheduleSurvivesClockSetBack() async throws {
        let (service, client) = start()
        #expect(try await service.syncIfDue(every: Self.day) != nil)
        clock.move(.seconds(-40 * 86_400))
        #expect(try await service.syncIfDue(every: Self.day) != nil)
        #expect(try await service.syncIfDue(every: Self.day) == nil)
        _ = client
    }

    @Test(arguments: ["", "{", #"{"server":"https://other","synced":99999999999999}"#, #"{"chance":-1}"#])
    func invalidScheduleFileIsIgnored(_ text: String) async throws {
        try place.files.write(#"{"format":1,"schedules":{"":\#(text)}}"#)
        let (service, client) = start()
        #expect(try await service.syncIfDue(every: Self.day) != nil)
        #expect(try await service.syncIfDue(every: Self.day) == nil)
        _ = client
    }

    /// If the storage cannot be written, fetched data and schedule times are kept in memory.
    @Test func scheduleWithUnwritableStorageWaits() async throws {
        try "a file".write(toFile: place.storage, atomically: true, encoding: .utf8)
        let (service, client) = start()
        let began = clock.now
        var results: [[CollectionSyncResult]] = []
        for await result in service.syncs(every: Self.day) {
            results.append(try result.get())
            if results.count == 2 { break }
        }
        guard case .failure(.storage)? = results.first?.first?.result else { return #expect(Bool(false), "\(results)") }
        #expect(results.last?.first?.isSynced == true && client.records?.isEmpty == false)
        #expect(clock.now.elapsed(since: began) < .seconds(120))
        #expect(try await service.syncIfDue(every: Self.day) == nil)
    }

    @Test func scheduleEndsWithTaskOrService() async throws {
        let (service, client) = start()
        let task = Task { await service.run(every: Self.day) }
        while asked == 0 { try await Task.sleep(for: .milliseconds(1)) }
        task.cancel()
        await task.value
        service.shutdown()
        await service.run(every: Self.day)
        _ = client
    }
}

/// Limited network access, for privacy, tests and enterprises.
@Suite struct NetworkAccessTests {
    let place: Workplace

    init() throws { place = try Workplace() }

    @Test func networkNeverMakesNoRequest() async throws {
        let collection = try place.collection(attaching: ["a": "x"])
        let source = try place.server.packaged(collection)
        let service = place.service {
            $0.packaged = [source]
            $0.network = .never
        }
        let client = service.makeClient(collectionName: collection.name)
        #expect(client.records?.count == 1)
        for call in [
            { try await client.sync() }, { _ = try await service.sync() },
            { _ = try await service.inspectWithServer() },
            { _ = try await service.syncIfDue(every: .seconds(60)) },
        ] as [@Sendable () async throws -> Void] {
            let error = await #expect(throws: RemoteSettingsError.self) { try await call() }
            #expect("\(error as Any)".contains("RemoteSettingsConfig.network is .never"), "\(error as Any)")
        }
        #expect(await service.makeClient(collectionName: "other").recordsOrSync() == nil)
        let stream = client.changes()
        #expect(place.server.requests.isEmpty)
        _ = stream
    }

    @Test func excludedCollectionIsNotSynced() async throws {
        let (own, other) = (try place.collection(), try place.collection())
        try own.put("a")
        try other.put("b")
        let service = place.service { $0.network = .allowedExcept([own.name]) }
        let clients = [own, other].map { service.makeClient(collectionName: $0.name) }
        let results = try await service.syncCollections()
        #expect(results.filter(\.isSynced).map(\.collection) == [other.id])
        #expect(!place.server.requests.contains { $0.path.contains(own.name) })
        await #expect(throws: RemoteSettingsError.self) { try await clients[0].sync() }
        #expect(clients[1].records?.count == 1)
    }

    @Test func syncTimeoutIsKept() async throws {
        let collection = try place.collection("a")
        let service = place.service {
            $0.environment.sleep = { try await Task.sleep(for: $0 > .seconds(60) ? .seconds(60) : .milliseconds(20)) }
        }
        let client = service.makeClient(collectionName: collection.name)
        try await client.sync(timeout: .seconds(600))
        #expect(client.records?.count == 1)
        place.server.inject([Fault(delay: .seconds(3600))])
        let error = await #expect(throws: RemoteSettingsError.self) { try await service.sync(timeout: .seconds(1)) }
        #expect("\(error as Any)".contains("within 1.0 seconds"), "\(error as Any)")
    }
}
