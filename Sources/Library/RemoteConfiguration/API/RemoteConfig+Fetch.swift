import ConfigParameters
import RemoteSettings
import RemoteSettingsHTTP
import RemoteSettingsModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The key under which concurrent fetches share their work, so that only one runs at a time.
struct RemoteConfigFetchKey: Hashable, Sendable {}

/// The result of a fetch.
struct RemoteConfigFetchOutcome: Sendable {
    let status: RemoteConfigFetchStatus
    /// Whether a request was sent to the server.
    var askedServer = false
    var error: RemoteConfigError?
}

extension RetryPauses {
    /// The pauses after server failures, during which no request is sent.
    static let afterFetches = RetryPauses(first: .seconds(120), longest: .seconds(14_400), spread: 0.5...1.5)
}

extension RemoteConfig {
    /// Fetches newer values, unless the last success was less than ``RemoteConfigSettings/minimumFetchInterval`` ago.
    /// Uses the network.
    ///
    /// Fetched values take effect when you call ``activate()``. Concurrent calls share one fetch.
    ///
    /// - Returns: ``RemoteConfigFetchStatus/success``, even if no request was due.
    /// - Throws: ``RemoteConfigError``. It is ``RemoteConfigError/paused(until:reason:)`` if the server has requested a
    ///   backoff, has failed before, or answers 429, 500, 503 or 504, or if the app has already made all requests that
    ///   ``RemoteConfigSettings/fetchesPerHour`` allows.
    @discardableResult
    public func fetch() async throws(RemoteConfigError) -> RemoteConfigFetchStatus {
        try await fetch(withExpirationDuration: configSettings.minimumFetchInterval)
    }

    /// Fetches newer values, like ``fetch()``, but with the given interval.
    ///
    /// - Parameter seconds: the minimum number of seconds between the last successful fetch and a new request. With 0,
    ///   the call makes a request unless a backoff or the hourly limit forbids it.
    @discardableResult
    public func fetch(withExpirationDuration seconds: Double) async throws(RemoteConfigError) -> RemoteConfigFetchStatus
    {
        let outcome = await fetchOutcome(expiration: seconds)
        if let error = outcome.error { throw error }
        return outcome.status
    }

    /// Fetches newer values, like ``fetch()``, and then activates them.
    ///
    /// - Throws: ``RemoteConfigError`` if the fetch or the activation fails. The active values then remain unchanged.
    @discardableResult
    public func fetchAndActivate() async throws(RemoteConfigError) -> RemoteConfigFetchAndActivateStatus {
        let outcome = await fetchOutcome(expiration: configSettings.minimumFetchInterval)
        if let error = outcome.error { throw error }
        try await activate()
        return outcome.askedServer ? .successFetchedFromRemote : .successUsingPreFetchedData
    }

    /// The time of the last successful fetch or other sync of the collection; `nil` if there was none. It persists
    /// across restarts.
    public var lastFetchTime: Date? { keptState?.lastFetch?.date }

    /// The result of the last fetch. It persists across restarts.
    public var lastFetchStatus: RemoteConfigFetchStatus { keptState?.lastStatus ?? .noFetchYet }

    private var keptState: ConfigState? { (try? client.collection()).map(store.present) }

    func fetchOutcome(expiration: Double) async -> RemoteConfigFetchOutcome {
        while true {
            let result = await fetches.run(RemoteConfigFetchKey(), outlivesCaller: false) { [weak self] _ in
                guard let self else { return .failure(.closed) }
                let outcome = await self.fetchOnce(expiration: expiration)
                self.tellObservers(outcome)
                return .success(outcome)
            }
            switch result {
            case .failure: return RemoteConfigFetchOutcome(status: .failure, error: .cancelled)
            case .success(let outcome):
                // If another caller started this fetch with a longer interval, it may have sent no request. Try again
                // in that case.
                if outcome.error == nil, !outcome.askedServer, !Task.isCancelled, isDue(expiration) { continue }
                return outcome
            }
        }
    }

    private func isDue(_ expiration: Double) -> Bool {
        guard let collection = try? client.collection() else { return false }
        return nextRegularFetch(store.present(collection), collection, expiration: .interval(expiration)) == nil
    }

    /// Returns the time when the interval expires; `nil` if the interval allows a request now.
    func nextRegularFetch(_ kept: ConfigState, _ collection: LocalCollection, expiration: Duration) -> Timestamp? {
        let now = collection.session.now
        // A time in the future was stored before the clock was set back, so it is ignored.
        guard let last = kept.lastFetch, last <= now, kept.lastStatus != .noFetchYet else { return nil }
        let end = last.advanced(by: expiration)
        guard now < end, kept.stale == nil, kept.context == kept.contextHash(collection) else { return nil }
        // The cached state may be missing, for example after a device was restored from a backup. In that case, fetch
        // at once.
        if let fetched = kept.fetched {
            guard
                let current = collection.current().timestamp
                    ?? state.withLock({ $0.layers?.parameters?.timestamp }),
                current >= fetched
            else { return nil }
        }
        return end
    }

    private func fetchOnce(expiration: Double) async -> RemoteConfigFetchOutcome {
        let collection: LocalCollection
        do throws(RemoteSettingsError) {
            collection = try client.collection()
        } catch {
            return RemoteConfigFetchOutcome(status: .failure, error: .fetchFailed(reason: "\(error)"))
        }
        // Load the current values before the fetch, so that a first read during or after the fetch does not return
        // fetched values.
        _ = layers()
        let kept = store.present(collection)
        let began = collection.session.now
        if let hold = kept.hold, hold.isInForce(at: began) {
            return await throttled(hold, collection)
        }
        if nextRegularFetch(kept, collection, expiration: .interval(expiration)) != nil {
            return RemoteConfigFetchOutcome(status: .success)
        }
        // Count the request before it is sent. Otherwise, an app that crashes after each start could send requests
        // without a limit.
        let most = configSettings.fetchesPerHour
        switch await store.update(collection, { $0.admitFetch(at: began, most: most) }) {
        case .usedUp(let end):
            return await throttled(
                .init(since: began, until: end, reason: ConfigState.limitReason(most: most)), collection)
        case .counted(let isAnnounced):
            state.withLock { $0.isFetching = true }
            defer { state.withLock { $0.isFetching = false } }
            do {
                let synced = try await sync(collection, expected: kept.stale?.expected)
                guard case .failure(let error) = synced.result else {
                    return await succeeded(collection, stale: kept.stale)
                }
                return await failed(error, synced.uptake, collection, began: began, isAnnounced: isAnnounced)
            } catch {
                return await failed(error, nil, collection, began: began, isAnnounced: isAnnounced)
            }
        }
    }

    /// Syncs the collection. Returns after the timeout, even if the transport does not react to cancellation.
    private func sync(_ collection: LocalCollection, expected: Timestamp?) async throws -> CollectionSyncResult {
        let timeout = configSettings.fetchTimeout
        let client = client
        let sleep = collection.session.config.environment.sleep
        let result = try await withThrowingTaskGroup(of: CollectionSyncResult.self) { group in
            group.addTask {
                try await client.syncWhileAwaited(expecting: expected)
            }
            group.addTask {
                try await sleep(.interval(timeout))
                throw RemoteConfigError.timeout(.seconds(timeout))
            }
            defer { group.cancelAll() }
            // The group then waits for the cancelled sync too, but that call returns at once.
            return try await group.next()
        }
        try Task.checkCancellation()
        guard let result else { throw CancellationError() }
        return result
    }

    private func succeeded(_ collection: LocalCollection, stale: ConfigState.Stale?) async -> RemoteConfigFetchOutcome {
        let current = collection.current().snapshot
        await store.update(collection) { kept in
            kept.recordSuccess(collection, current: current?.timestamp)
            // Keep the mark if a push message arrived during the fetch, because it may announce a newer state.
            if kept.stale == stale { kept.stale = nil }
        }
        var outcome = RemoteConfigFetchOutcome(status: .success, askedServer: true)
        // If the fetched state cannot be activated, report that now instead of at the activation.
        if let records = current?.records {
            do throws(Failure) {
                _ = try records.isEmpty ? ParameterSet() : ParameterSet(records)
            } catch {
                outcome.error = .notParameters(reason: "\(collection.id): \(error)")
            }
        }
        return outcome
    }

    /// Counts a successful sync as a fetch if it was started by something else, such as the update channel.
    func recordSync(began: Timestamp) async {
        guard let collection = try? client.collection(), !state.withLock({ $0.isFetching }) else { return }
        let current = collection.current().timestamp
        await store.update(collection) { kept in
            kept.recordSuccess(collection, current: current)
            guard let stale = kept.stale else { return }
            let isHeld = stale.expected.map { expected in current.map { $0 >= expected } ?? false } ?? false
            if isHeld || stale.since < began { kept.stale = nil }
        }
    }

    private func failed(
        _ error: any Error, _ uptake: SyncUptake?, _ collection: LocalCollection, began: Timestamp, isAnnounced: Bool
    ) async -> RemoteConfigFetchOutcome {
        if error is CancellationError || error as? RemoteSettingsError == .cancelled || Task.isCancelled {
            return RemoteConfigFetchOutcome(status: .failure, error: .cancelled)
        }
        let now = collection.session.now
        if case .backoff(let pause)? = error as? RemoteSettingsError {
            let hold = ConfigState.Hold(
                since: now, until: now.advanced(by: pause),
                reason: "the server asked clients to wait")
            await store.update(collection) { $0.hold = hold }
            return await throttled(hold, collection)
        }
        let isRejected = uptake?.status == .rejectedError
        let reported =
            error as? RemoteConfigError
            ?? (isRejected ? .rejected(reason: "\(error)") : .fetchFailed(reason: "\(error)"))
        let chance = collection.session.config.environment.random()
        let hold = await store.update(collection) { kept -> ConfigState.Hold? in
            kept.lastStatus = .failure
            kept.lastError = "\(reported)"
            // A request on an offline device does not count towards the limit, and causes no wait.
            if uptake?.status == .networkError { kept.withdrawFetch(at: began, isAnnounced: isAnnounced) }
            guard uptake?.isServersFailure == true else { return nil }
            kept.failures = kept.failures.saturatingAdding(1)
            let pause = RetryPauses.afterFetches.pause(after: Int(clamping: kept.failures), random: chance)
            let until = now.advanced(by: pause)
            let hold = ConfigState.Hold(since: now, until: until, reason: "the last request failed (\(reported))")
            kept.hold = hold
            return hold
        }
        guard let hold, uptake?.isAskingForPause == true else {
            return RemoteConfigFetchOutcome(status: .failure, askedServer: true, error: reported)
        }
        var outcome = await throttled(hold, collection)
        outcome.askedServer = true
        return outcome
    }

    private func throttled(_ hold: ConfigState.Hold, _ collection: LocalCollection) async -> RemoteConfigFetchOutcome {
        let error = RemoteConfigError.paused(until: hold.until, reason: hold.reason)
        await store.update(collection) { kept in
            kept.lastStatus = .throttled
            kept.lastError = "\(error)"
        }
        return RemoteConfigFetchOutcome(status: .throttled, error: error)
    }
}

extension SyncUptake {
    /// Whether the server sent an error or an unusable response.
    ///
    /// A 404 is not a server failure, because the collection does not exist before its first publication.
    fileprivate var isServersFailure: Bool {
        switch status {
        case .serverError, .parseError, .contentError, .signError, .signRetryError, .certificateError, .syncError:
            httpStatus != 404
        default: false
        }
    }

    /// Whether Firebase's client would report this response as throttled.
    fileprivate var isAskingForPause: Bool { [429, 500, 503, 504].contains(httpStatus) }
}

extension RemoteConfig {
    /// Records that the server has a newer state than the fetched one. Does I/O.
    ///
    /// The next fetch then contacts the server regardless of the interval, but not during a backoff. The record
    /// persists across restarts, until the next successful fetch.
    ///
    /// - Throws: ``RemoteConfigError/storage(reason:)`` if the record cannot be stored. It is still effective in this
    ///   process.
    public func markStale() throws(RemoteConfigError) { try markStale(expected: nil) }

    private func markStale(expected: Timestamp?) throws(RemoteConfigError) {
        do {
            let collection = try client.collection()
            let stale = ConfigState.Stale(since: collection.session.now, expected: expected)
            try store.updateBlocking(collection) { $0.stale = stale }
        } catch {
            throw RemoteConfigError(error)
        }
    }

    /// Handles the payload of a push message, and calls ``markStale()`` if it announces new values. Does I/O if the
    /// message concerns remote config.
    ///
    /// It reads `CONFIG_STATE` with the value `STALE`, and `timestamp` with the timestamp of the published collection
    /// in milliseconds, as a number or string. If the app already has the state with this timestamp, the message does
    /// not cause a fetch. A message that contains `collection` is ignored unless it names this collection.
    ///
    /// - Returns: whether the message concerns this remote config.
    /// - Throws: the errors of ``markStale()``.
    @discardableResult
    public func handlePushMessage(_ message: [AnyHashable: Any]) throws(RemoteConfigError) -> Bool {
        guard let message = RemoteSettingsPushMessage(message) else { return false }
        if let collection = message.collection {
            guard collection == collectionName || collection == (try? client.collection()).map({ "\($0.id)" }) else {
                return false
            }
        }
        if let announced = message.timestamp {
            let collection = try? client.collection()
            let acceptsUnsigned = collection?.session.trust.acceptsUnsigned ?? false
            let isHeld = collection?.current().standing.map {
                !$0.isBehind(announced: announced, acceptsUnsigned: acceptsUnsigned)
            }
            if isHeld != true { try markStale(expected: announced) }
        } else {
            try markStale()
        }
        return true
    }
}
