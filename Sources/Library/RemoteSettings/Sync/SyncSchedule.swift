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
        return AsyncStream { [weak self] in
            while !Task.isCancelled {
                guard let session = self?.session, !session.isClosed else { return nil }
                let pause = schedule.pause(session)
                guard pause <= .zero else {
                    do { try await session.config.environment.sleep(pause) } catch { return nil }
                    continue
                }
                if let result = await self?.scheduledSync(schedule) { return result }
            }
            return nil
        }
    }

    /// Makes the one sync that ``syncs(every:)`` would make now, such as in a `BGAppRefreshTask` or at the start. Uses
    /// the network if it is due.
    ///
    /// - Returns: the results, as ``syncCollections(expecting:trigger:timeout:)`` returns them; `nil` if none is due.
    /// - Throws: ``RemoteSettingsError`` as ``syncCollections(expecting:trigger:timeout:)`` does, and if the storage
    ///   directory cannot be written.
    @discardableResult
    public func syncIfDue(every interval: Duration) async throws(RemoteSettingsError) -> [CollectionSyncResult]? {
        let schedule = SyncSchedule(every: interval)
        guard schedule.pause(session) <= .zero else { return nil }
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
            guard try await schedule.begin(session) else { return nil }
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
/// What is known is in a file of the storage directory, which is changed under its lock. Before a sync begins, it is
/// written down as one that failed: a process that is killed, or one that does not end, counts as a failure, and no
/// other process begins the same sync.
package final class SyncSchedule: Sendable {
    private static let firstPause = Duration.seconds(60)
    private static let limits = Duration.seconds(60)...Duration.seconds(366 * 86_400)
    /// The longest time to sleep at once: the clock may be set, or the device may sleep.
    private static let longestSleep = Duration.seconds(3600)
    private static let mostBytes = 4096

    private struct Times: Hashable {
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
    /// Until when nothing is tried, because the file could not be written.
    private let notBefore = Mutex<Timestamp?>(nil)

    package init(every interval: Duration, of collection: CollectionID? = nil) {
        self.collection = collection
        self.interval = min(max(interval, Self.limits.lowerBound), Self.limits.upperBound)
    }

    /// How long to wait until a sync may be due; zero or less if it is due. Does I/O.
    func pause(_ session: Session) -> Duration {
        let now = session.now
        var due = due(read(session), at: now)
        if let notBefore = notBefore.withLock({ $0 }), notBefore < now.advanced(by: Self.longestSleep) {
            due = max(due, notBefore)
        }
        return due > now ? min(due.elapsed(since: now), Self.longestSleep) : .zero
    }

    /// Writes down that a sync begins, unless another process has done it.
    func begin(_ session: Session) async throws -> Bool {
        do {
            return try await session.withStorageLock {
                var times = read(session)
                let now = session.now
                guard due(times, at: now) <= now else { return false }
                times.begun = now
                times.failures = times.failures.saturatingAdding(1)
                times.chance = Int(session.config.environment.random() * 1000)
                try write(times, session)
                return true
            }
        } catch {
            notBefore.withLock { $0 = session.now.advanced(by: Self.firstPause) }
            throw error
        }
    }

    /// Writes down that a sync has succeeded. If that fails, the next one comes earlier.
    func end(_ session: Session) async {
        try? await session.withStorageLock {
            var times = read(session)
            times.synced = session.now
            times.failures = 0
            try write(times, session)
        }
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

    /// A file that cannot be read, or that is of another server, counts as absent.
    private func read(_ session: Session) -> Times {
        guard let bytes = try? FileStore.read(path(session), limit: Self.mostBytes),
            let document = try? JSONValue(parsing: bytes, limits: Limits()),
            document["server"]?.string == server(session)
        else { return Times() }
        func number(_ key: String) -> UInt64? { document[key]?.number?.uint64 }
        return Times(
            synced: number("synced").map(Timestamp.init(milliseconds:)),
            begun: number("begun").map(Timestamp.init(milliseconds:)),
            failures: number("failures").map { Int(clamping: $0) } ?? 0,
            chance: number("chance").map { Int(clamping: $0) } ?? 0)
    }

    private func write(_ times: Times, _ session: Session) throws {
        let document = JSONValue.members([
            "server": .string(server(session)), "synced": times.synced.map { .count($0.milliseconds) },
            "begun": times.begun.map { .count($0.milliseconds) }, "failures": .count(times.failures),
            "chance": .count(times.chance),
        ])
        try FileStore.replace(
            path(session), below: session.storage.path, with: Bytes(JSONText.compact(document)), limit: Self.mostBytes,
            isContended: true, flushing: false)
    }

    private func path(_ session: Session) -> String {
        collection.map { session.storage.schedulePath(of: $0) } ?? session.storage.schedulePath
    }

    private func server(_ session: Session) -> String {
        (try? session.server.get()).map { ServerIdentity($0).description } ?? ""
    }
}
