import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

extension RemoteSettingsService {
    /// Syncs every collection that has a client, now if it is due, and then again and again. Uses the network.
    ///
    ///     for await result in service.syncs(every: .seconds(86_400)) { … }
    ///
    /// The server is asked at most once in the interval, however often the app is started and however many processes
    /// share the storage directory. The time counts from a sync in which no collection failed. After a failure, the
    /// next try follows after a minute, and after twice the pause each time, up to the interval. Up to a tenth of the
    /// interval is added by chance, so that not all apps ask at one moment. A sync is made when the stream is asked for
    /// its next element. The stream ends with its task, and with the service.
    ///
    /// - Parameter interval: from a minute to 366 days; what is beyond counts as these.
    public func syncs(every interval: Duration) -> AsyncStream<Result<[CollectionSyncResult], RemoteSettingsError>> {
        let schedule = SyncSchedule(every: interval)
        return SyncSchedule.results { [weak self] in
            guard let self, !self.session.isClosed else { return nil }
            return (schedule.pause(self.session, self.clientCollections), self.session.config.environment)
        } of: { [weak self] in
            await self?.scheduledSync(schedule)
        }
    }

    /// Makes the one sync that ``syncs(every:)`` would make now, such as in a `BGAppRefreshTask` or at the start. Uses
    /// the network if it is due.
    ///
    /// - Returns: the results, as ``syncCollections(expecting:trigger:timeout:)`` returns them; `nil` if none is due.
    /// - Throws: ``RemoteSettingsError`` as ``syncCollections(expecting:trigger:timeout:)`` does.
    @discardableResult
    public func syncIfDue(every interval: Duration) async throws(RemoteSettingsError) -> [CollectionSyncResult]? {
        let schedule = SyncSchedule(every: interval)
        guard schedule.pause(session, clientCollections) <= .zero else { return nil }
        return try await scheduledSync(schedule)?.get()
    }

    /// Runs until the task is cancelled or the service is shut down, as a service of swift-service-lifecycle does. Uses
    /// the network.
    ///
    /// - Parameter interval: as for ``syncs(every:)``.
    public func run(every interval: Duration) async {
        for await _ in syncs(every: interval) {}
    }

    /// - Returns: `nil` if another process has just begun the sync.
    private func scheduledSync(
        _ schedule: SyncSchedule
    ) async -> Result<[CollectionSyncResult], RemoteSettingsError>? {
        let session = session
        let result: Result<[CollectionSyncResult], RemoteSettingsError>
        do {
            guard try await schedule.begin(session, clientCollections) else { return nil }
            result = .success(try await syncCollections(trigger: .timer))
        } catch {
            result = .failure(RemoteSettingsError(error))
        }
        if let results = try? result.get(), results.allSatisfy(\.isSynced) { await schedule.end(session) }
        return result
    }
}

/// When a service's next scheduled sync is due.
///
/// What is known is in the index. Before a sync begins, it is written down as one that failed: a process that is
/// killed, or one that does not end, counts as a failure, and no other process begins the same sync. If it cannot be
/// written, it holds for this process.
package final class SyncSchedule: Sendable {
    private static let firstPause = Duration.seconds(60)
    private static let limits = Duration.seconds(60)...Duration.seconds(366 * 86_400)
    /// The longest time to sleep at once: the clock may be set, or the device may sleep.
    private static let longestSleep = Duration.seconds(3600)

    package struct Times: Hashable, Sendable {
        let server: String
        /// When the last sync ended in which no collection failed.
        var synced: Timestamp?
        /// When the last sync began.
        var begun: Timestamp?
        /// How many have begun since one has succeeded.
        var failures = 0
        /// In thousandths.
        var chance = 0
    }

    private let interval: Duration
    /// The collection of remote config that the schedule is of; `nil` for the service's schedule.
    private let collection: CollectionID?

    package init(every interval: Duration, of collection: CollectionID? = nil) {
        self.collection = collection
        self.interval = min(max(interval, Self.limits.lowerBound), Self.limits.upperBound)
    }

    /// The results of what is due, again and again. Each is begun when the stream is asked for its next element.
    ///
    /// - Parameters:
    ///   - pause: how long to wait, and with which clock; `nil` at the end of the stream.
    ///   - run: returns `nil` if another process has just begun the same.
    package static func results<Result: Sendable>(
        pause: @escaping @Sendable () -> (left: Duration, environment: HTTPEnvironment)?,
        of run: @escaping @Sendable () async -> Result?
    ) -> AsyncStream<Result> {
        AsyncStream {
            while !Task.isCancelled, let (left, environment) = pause() {
                if left > .zero {
                    do { try await environment.sleep(left) } catch { return nil }
                } else if let result = await run() {
                    return result
                }
            }
            return nil
        }
    }

    /// How long to wait until a sync may be due; zero or less if it is due. Does I/O.
    ///
    /// - Parameter collections: those that the sync is for. If the system has removed what was stored of one, the last
    ///   sync does not count.
    package func pause(_ session: Session, _ collections: [LocalCollection]) -> Duration {
        let now = session.now
        var times = times(in: session.storage.index(), session)
        if collections.contains(where: \.isPurged) { times.synced = nil }
        let due = due(times, at: now)
        return due > now ? min(due.elapsed(since: now), Self.longestSleep) : .zero
    }

    /// Writes down that a sync begins, unless another process has done it.
    package func begin(_ session: Session, _ collections: [LocalCollection]) async throws -> Bool {
        let isPurged = collections.contains(where: \.isPurged)
        let (isDue, problem) = try await session.storage.update(flushing: false) { index in
            var times = times(in: index, session)
            if isPurged { times.synced = nil }
            let now = session.now
            guard due(times, at: now) <= now else { return false }
            times.begun = now
            times.failures = times.failures.saturatingAdding(1)
            times.chance = Int(session.config.environment.random() * 1000)
            index.schedules[key] = times
            return true
        }
        if let problem { session.reportStorage(problem) }
        return isDue
    }

    /// Writes down that a sync has succeeded.
    package func end(_ session: Session) async {
        let done = try? await session.storage.update(flushing: false) { index in
            var times = times(in: index, session)
            times.synced = session.now
            times.failures = 0
            index.schedules[key] = times
        }
        if let problem = done?.problem { session.reportStorage(problem) }
    }

    private func due(_ times: Times, at now: Timestamp) -> Timestamp {
        // A clock that was set back makes what lies ahead of it worthless.
        guard [times.synced, times.begun].allSatisfy({ $0 ?? now <= now }) else { return now }
        let chance = Double(min(max(times.chance, 0), 1000)) / 1000
        if times.failures > 0, let begun = times.begun {
            let pause = min(interval, Self.firstPause * (1 << min(times.failures - 1, 20)))
            return begun.advanced(by: pause + pause / 2 * chance)
        }
        guard let synced = times.synced else { return now }
        return synced.advanced(by: interval + interval / 10 * chance)
    }

    private var key: String { collection.map { "\($0)" } ?? "" }

    /// The times of another server count as absent.
    private func times(in index: StorageIndex, _ session: Session) -> Times {
        let server = session.serverIdentity.description
        return index.schedules[key].flatMap { $0.server == server ? $0 : nil } ?? Times(server: server)
    }
}

extension SyncSchedule.Times {
    init(_ json: JSONValue) {
        self.init(
            server: json["server"]?.string ?? "", synced: json.time("synced"), begun: json.time("begun"),
            failures: json.count("failures"), chance: json.count("chance"))
    }

    var json: JSONValue {
        .members([
            "server": .string(server), "synced": synced.map { .time($0) }, "begun": begun.map { .time($0) },
            "failures": .count(failures), "chance": .count(chance),
        ])
    }
}

extension LocalCollection {
    /// Whether the index names a state whose file is gone.
    var isPurged: Bool { session.storage.index()[key].synced.current.map { !session.storage.has($0) } ?? false }
}
