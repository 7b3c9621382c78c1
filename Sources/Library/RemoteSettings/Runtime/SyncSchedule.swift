import RemoteSettingsHTTP
import RemoteSettingsModel

extension RemoteSettingsService {
    /// Syncs every collection that has a client at an interval, starting now if a sync is due. Uses the network.
    ///
    ///     for await result in service.syncs(every: .seconds(86_400)) { … }
    ///
    /// The server is contacted at most once per interval, regardless of the number of app starts and of processes that
    /// share the storage directory. The interval begins when a sync has finished in which no collection failed. After a
    /// failure, the next attempt follows after a minute; after each further failure, the wait is doubled, up to the
    /// interval. A random delay is added, up to a tenth of the interval or half of the wait, so that not all apps
    /// contact the server at the same moment. A sync starts only when the next element of the stream is requested. The
    /// stream finishes when its task is cancelled or the service is shut down.
    ///
    /// - Parameter interval: the interval, which is clamped to the range from 1 minute to 366 days.
    public func syncs(every interval: Duration) -> AsyncStream<Result<[CollectionSyncResult], RemoteSettingsError>> {
        let schedule = SyncSchedule(every: interval)
        return SyncSchedule.results { [weak self] in
            guard let self, !self.session.isClosed else { return nil }
            return (schedule.pause(self.session, self.clientCollections), self.session.config.environment)
        } of: { [weak self] in
            await self?.scheduledSync(schedule)
        }
    }

    /// Syncs once if a sync is due according to ``syncs(every:)``, for example in a `BGAppRefreshTask` or when the app
    /// starts. Uses the network if a sync is due.
    ///
    /// - Returns: the results of ``syncCollections(expecting:trigger:timeout:)``; `nil` if no sync is due.
    /// - Throws: ``RemoteSettingsError`` under the same conditions as ``syncCollections(expecting:trigger:timeout:)``.
    @discardableResult
    public func syncIfDue(every interval: Duration) async throws(RemoteSettingsError) -> [CollectionSyncResult]? {
        let schedule = SyncSchedule(every: interval)
        guard schedule.pause(session, clientCollections) <= .zero else { return nil }
        return try await scheduledSync(schedule)?.get()
    }

    /// Syncs at an interval until the task is cancelled or the service is shut down. Can be called from the `run()`
    /// method of a swift-service-lifecycle `Service`. Uses the network.
    ///
    /// - Parameter interval: see ``syncs(every:)``.
    public func run(every interval: Duration) async {
        for await _ in syncs(every: interval) {}
    }

    /// Runs a scheduled sync.
    ///
    /// - Returns: `nil` if another process has just started the sync.
    private func scheduledSync(_ schedule: SyncSchedule) async -> Result<[CollectionSyncResult], RemoteSettingsError>? {
        let session = session
        let result: Result<[CollectionSyncResult], RemoteSettingsError>
        do {
            guard try await schedule.begin(session, clientCollections) else { return nil }
            result = .success(try await syncCollections(trigger: .timer))
        } catch {
            result = .failure(RemoteSettingsError(error))
        }
        if let results = try? result.get(), results.allSatisfy({ $0.failure == nil }) { await schedule.end(session) }
        return result
    }
}

/// The schedule of a service's syncs.
///
/// The times are stored in the index. Before a sync begins, it is recorded as failed. If its process is then killed or
/// hangs, it counts as a failure, and no other process starts the same sync. If the record cannot be written, it
/// applies to this process only.
package final class SyncSchedule: Sendable {
    private static let firstPause = Duration.seconds(60)
    private static let limits = Duration.seconds(60)...Duration.seconds(366 * 86_400)
    /// The longest uninterrupted sleep, because the clock may be set or the device may be suspended in the meantime.
    private static let longestSleep = Duration.seconds(3600)

    private let interval: Duration
    /// The remote config collection that this schedule is for; `nil` for the service's schedule.
    private let collection: CollectionID?

    package init(every interval: Duration, of collection: CollectionID? = nil) {
        self.collection = collection
        self.interval = min(max(interval, Self.limits.lowerBound), Self.limits.upperBound)
    }

    /// Returns a stream that runs the work whenever it is due, and delivers the results. Work starts only when the next
    /// element of the stream is requested.
    ///
    /// - Parameters:
    ///   - pause: a closure that returns the time to wait, and the clock to wait with; `nil` to finish the stream.
    ///   - run: a closure that does the work; it returns `nil` if another process has just started the same work.
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

    /// Returns the time to wait until a sync may be due; zero or less if it is due. Does I/O.
    ///
    /// - Parameter collections: the collections that the sync covers. If the stored data of one of them was deleted or
    ///   cannot be used, the last sync does not count.
    package func pause(_ session: Session, _ collections: [LocalCollection]) -> Duration {
        let now = session.now
        var times = times(in: session.storage.index(), session)
        if collections.contains(where: { $0.unusable != nil }) { times.synced = nil }
        let due = due(times, at: now)
        return due > now ? min(due.elapsed(since: now), Self.longestSleep) : .zero
    }

    /// Records the start of a sync, unless another process has already done so.
    package func begin(_ session: Session, _ collections: [LocalCollection]) async throws -> Bool {
        let isLost = collections.contains { $0.unusable != nil }
        let (isDue, problem) = try await session.storage.update(flushing: false) { index in
            var times = times(in: index, session)
            if isLost { times.synced = nil }
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

    /// Records that a sync has succeeded.
    package func end(_ session: Session) async {
        let done = try? await session.storage.update(flushing: false) { index in
            var times = times(in: index, session)
            times.synced = session.now
            times.failures = 0
            index.schedules[key] = times
        }
        if let problem = done?.problem { session.reportStorage(problem) }
    }

    private func due(_ times: ScheduleTimes, at now: Timestamp) -> Timestamp {
        // If a time is in the future, the clock was set back and the times are useless.
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

    /// Returns the stored times; empty if they belong to a different server.
    private func times(in index: StorageIndex, _ session: Session) -> ScheduleTimes {
        let server = session.serverIdentity.description
        return index.schedules[key].flatMap { $0.server == server ? $0 : nil } ?? ScheduleTimes(server: server)
    }
}
