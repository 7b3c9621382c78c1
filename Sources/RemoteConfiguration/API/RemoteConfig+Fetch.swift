import ConfigParameters
import RemoteSettings
import RemoteSettingsModel
import UpdateSchedule

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// There is one fetch at a time.
struct RemoteConfigFetchKey: Hashable, Sendable {}

/// How a fetch ended.
struct RemoteConfigFetchOutcome: Sendable {
    let status: RemoteConfigFetchStatus
    /// Whether the server was asked.
    var askedServer = false
    var error: RemoteConfigError?
}

extension RetryPauses {
    /// The pauses after a server's failures.
    static let afterFetches = RetryPauses(first: .seconds(120), longest: .seconds(14_400), spread: 0.5...1.5)
}

extension RemoteConfig {
    /// Asks the server for what is newer, unless the last success is younger than
    /// ``RemoteConfigSettings/minimumFetchInterval``. What comes waits for ``activate()``. Calls at the same time share
    /// one fetch.
    ///
    /// - Returns: ``RemoteConfigFetchStatus/success``, also if no request was due.
    /// - Throws: ``RemoteConfigError``; ``RemoteConfigError/throttled(until:reason:)`` if the server asked for a pause,
    ///   has failed before, or answers 429, 500, 503 or 504, and if ``RemoteConfigSettings/fetchesPerHour`` is used up.
    @discardableResult
    public func fetch() async throws(RemoteConfigError) -> RemoteConfigFetchStatus {
        try await fetch(withExpirationDuration: configSettings.minimumFetchInterval)
    }

    /// Like ``fetch()``, with another interval.
    ///
    /// - Parameter seconds: the age of the last success from which on the server is asked. 0 asks it in any case,
    ///   unless a pause is in force.
    @discardableResult
    public func fetch(withExpirationDuration seconds: Double) async throws(RemoteConfigError) -> RemoteConfigFetchStatus
    {
        let outcome = await fetchOutcome(expiration: seconds)
        if let error = outcome.error { throw error }
        return outcome.status
    }

    /// Like ``fetch()``, and activates what is there.
    ///
    /// - Throws: ``RemoteConfigError`` if the fetch fails; then nothing is activated.
    @discardableResult
    public func fetchAndActivate() async throws(RemoteConfigError) -> RemoteConfigFetchAndActivateStatus {
        let outcome = await fetchOutcome(expiration: configSettings.minimumFetchInterval)
        if let error = outcome.error { throw error }
        try await activate()
        return outcome.askedServer ? .successFetchedFromRemote : .successUsingPreFetchedData
    }

    /// When a fetch, or another sync of the collection, last succeeded; `nil` if none has. It is kept across starts.
    public var lastFetchTime: Date? { keptState?.lastFetch?.date }

    /// How the last fetch ended. It is kept across starts.
    public var lastFetchStatus: RemoteConfigFetchStatus { keptState?.lastStatus ?? .noFetchYet }

    /// What is kept, read from the file if this process has not done so yet.
    private var keptState: ConfigState? {
        if let kept = store.known { return kept }
        guard let access = try? client.access else { return nil }
        return store.present(access)
    }

    func fetchOutcome(expiration: Double) async -> RemoteConfigFetchOutcome {
        while true {
            let result = await fetches.run(RemoteConfigFetchKey()) { [weak self] _ in
                guard let self else { return .failure(.Other(reason: "the remote config is gone")) }
                let outcome = await self.fetchOnce(expiration: expiration)
                self.tellObservers(outcome)
                return .success(outcome)
            }
            switch result {
            case .failure: return RemoteConfigFetchOutcome(status: .failure, error: .cancelled)
            case .success(let outcome):
                // A fetch that another caller began with a longer interval may not have asked the server.
                if outcome.error == nil, !outcome.askedServer, !Task.isCancelled, isDue(expiration) { continue }
                return outcome
            }
        }
    }

    private func isDue(_ expiration: Double) -> Bool {
        guard let access = try? client.access else { return false }
        return nextRegularFetch(store.present(access), access, expiration: .interval(expiration)) == nil
    }

    /// Until when the interval lasts; `nil` if the server may be asked now.
    func nextRegularFetch(_ kept: ConfigState, _ access: CollectionAccess, expiration: Duration) -> Timestamp? {
        let now = access.environment.now()
        // What lies in the future was noted before the clock was set back.
        guard let last = kept.lastFetch, last <= now, kept.lastStatus != .noFetchYet else { return nil }
        let end = last.advanced(by: expiration)
        guard now < end, kept.stale == nil, kept.context == kept.contextHash(access) else { return nil }
        // The cache may be gone, as after a device was restored: then the interval must not keep its values away.
        if let fetched = kept.fetched {
            guard let held = access.held()?.snapshot.timestamp ?? state.withLock({ $0.layers?.parameters?.timestamp }),
                held >= fetched
            else { return nil }
        }
        return end
    }

    private func fetchOnce(expiration: Double) async -> RemoteConfigFetchOutcome {
        let access: CollectionAccess
        do throws(RemoteSettingsError) {
            access = try client.access
        } catch {
            return RemoteConfigFetchOutcome(status: .failure, error: .fetchFailed(reason: "\(error)"))
        }
        // Values are of the state that was active before the fetch, also if the first read comes later.
        _ = layers()
        let kept = store.present(access)
        let began = access.environment.now()
        if let hold = kept.hold, hold.isInForce(at: began, limits: access.limits) {
            return await throttled(hold, access)
        }
        if nextRegularFetch(kept, access, expiration: .interval(expiration)) != nil {
            return RemoteConfigFetchOutcome(status: .success)
        }
        // Counted before it is made: an app that crashes after each start would else ask without a limit.
        let most = configSettings.fetchesPerHour
        switch await store.note(access, { $0.admitFetch(at: began, most: most) }) {
        case .usedUp(let end):
            return await throttled(.init(since: began, until: end, reason: ConfigState.limitReason(most: most)), access)
        case .counted(let isAnnounced):
            state.withLock { $0.isFetching = true }
            defer { state.withLock { $0.isFetching = false } }
            do {
                try await sync(access, expected: kept.stale?.expected)
            } catch {
                return await failed(error, access, began: began, isAnnounced: isAnnounced)
            }
            return await succeeded(access, stale: kept.stale)
        }
    }

    /// Syncs the collection; ends after the time-out, whatever the transport does.
    private func sync(_ access: CollectionAccess, expected: Timestamp?) async throws {
        let timeout = configSettings.fetchTimeout
        let client = client
        let sleep = access.environment.sleep
        defer { access.cancelAbandonedSync() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                if let expected {
                    try await client.sync(expectedTimestamp: expected.milliseconds)
                } else {
                    try await client.sync()
                }
            }
            group.addTask {
                try await sleep(.interval(timeout))
                throw RemoteConfigError.timeout(seconds: timeout)
            }
            defer { group.cancelAll() }
            // A caller of a sync that is cancelled stops waiting at once.
            try await group.next()
        }
        try Task.checkCancellation()
    }

    private func succeeded(_ access: CollectionAccess, stale: ConfigState.Stale?) async -> RemoteConfigFetchOutcome {
        let held = access.held()?.snapshot
        await store.note(access) { kept in
            kept.noteSuccess(access, held: held?.timestamp)
            // A message that came meanwhile is about something newer still.
            if kept.stale == stale { kept.stale = nil }
        }
        var outcome = RemoteConfigFetchOutcome(status: .success, askedServer: true)
        // What cannot be activated is said at once.
        if let records = held?.records {
            do throws(ParameterRecordError) {
                _ = try records.isEmpty ? ParameterSet() : ParameterSet(records)
            } catch {
                outcome.error = .notParameters(reason: "\(access.id): \(error)")
            }
        }
        return outcome
    }

    /// A sync of the collection has succeeded that somebody else asked for, such as the update channel: it counts as a
    /// fetch.
    func noteSync(began: Timestamp) async {
        guard let access = try? client.access, !state.withLock({ $0.isFetching }) else { return }
        let held = access.held()?.snapshot.timestamp
        await store.note(access) { kept in
            kept.noteSuccess(access, held: held)
            guard let stale = kept.stale else { return }
            let isHeld = stale.expected.map { expected in held.map { $0 >= expected } ?? false } ?? false
            if isHeld || stale.since < began { kept.stale = nil }
        }
    }

    private func failed(
        _ error: any Error, _ access: CollectionAccess, began: Timestamp, isAnnounced: Bool
    ) async -> RemoteConfigFetchOutcome {
        if error is CancellationError || Task.isCancelled {
            return RemoteConfigFetchOutcome(status: .failure, error: .cancelled)
        }
        let now = access.environment.now()
        if case .Backoff(let seconds)? = error as? RemoteSettingsError {
            let hold = ConfigState.Hold(
                since: now, until: now.advanced(by: .seconds(Int64(clamping: seconds))),
                reason: "the server asked for no requests")
            await store.note(access) { $0.hold = hold }
            return await throttled(hold, access)
        }
        let reported = error as? RemoteConfigError ?? .fetchFailed(reason: "\(error)")
        let uptake = error is RemoteSettingsError ? access.lastUptake : nil
        let chance = access.environment.random()
        let hold = await store.note(access) { kept -> ConfigState.Hold? in
            kept.lastStatus = .failure
            kept.lastError = "\(reported)"
            // A device without a network is not held back.
            if uptake?.status == .networkError { kept.takeBackFetch(at: began, isAnnounced: isAnnounced) }
            guard uptake?.isServersFailure == true else { return nil }
            kept.failures = kept.failures.saturatingAdding(1)
            let pause = RetryPauses.afterFetches.pause(after: Int(clamping: kept.failures), random: chance)
            let until = now.advanced(by: pause)
            let hold = ConfigState.Hold(
                since: now, until: until, reason: "the last request failed (\(reported))")
            kept.hold = hold
            return hold
        }
        guard let hold, uptake?.isAskingForPause == true else {
            return RemoteConfigFetchOutcome(status: .failure, askedServer: true, error: reported)
        }
        var outcome = await throttled(hold, access)
        outcome.askedServer = true
        return outcome
    }

    private func throttled(_ hold: ConfigState.Hold, _ access: CollectionAccess) async -> RemoteConfigFetchOutcome {
        let error = RemoteConfigError.throttled(until: hold.until.date, reason: hold.reason)
        await store.note(access) { kept in
            kept.lastStatus = .throttled
            kept.lastError = "\(error)"
        }
        return RemoteConfigFetchOutcome(status: .throttled, error: error)
    }
}

extension CollectionAccess.Uptake {
    /// Whether the server answered, and what it answered cannot be used. Before the first publication there is nothing
    /// to answer: 404 is no failure of the server.
    fileprivate var isServersFailure: Bool {
        switch status {
        case .serverError, .parseError, .contentError, .signError, .signRetryError, .certificateError, .syncError:
            httpStatus != 404
        default: false
        }
    }

    /// Whether the answer is one of those after which Firebase's client reports that it is throttled.
    fileprivate var isAskingForPause: Bool { [429, 500, 503, 504].contains(httpStatus) }
}

extension RemoteConfig {
    /// Notes that there is something newer than what was fetched: the next fetch asks the server whatever the interval,
    /// though not before a pause that it asked for has passed. Kept across starts; the next success clears it. Does
    /// I/O.
    ///
    /// - Throws: ``RemoteConfigError/storage(reason:)`` if it cannot be stored; it holds for this process all the same.
    public func markStale() throws(RemoteConfigError) { try markStale(expected: nil) }

    private func markStale(expected: Timestamp?) throws(RemoteConfigError) {
        do {
            let access = try client.access
            let stale = ConfigState.Stale(since: access.environment.now(), expected: expected)
            try store.noteBlocking(access) { $0.stale = stale }
        } catch {
            throw RemoteConfigError(error)
        }
    }

    /// Looks at the payload of a push message. Does I/O if it is about remote config.
    ///
    /// It knows `CONFIG_STATE` = `STALE`, and `timestamp` with the timestamp of the collection that was published, in
    /// milliseconds as a number or text; one that is held already needs no fetch. A message that names another
    /// `collection` is not about this one.
    ///
    /// - Returns: whether the message is about this remote config.
    /// - Throws: as ``markStale()``.
    @discardableResult
    public func handlePushMessage(_ message: [AnyHashable: Any]) throws(RemoteConfigError) -> Bool {
        guard let message = RemoteSettingsPushMessage(message) else { return false }
        if let collection = message.collection {
            guard collection == collectionName || collection == (try? client.access).map({ "\($0.id)" }) else {
                return false
            }
        }
        if let announced = message.timestamp {
            let held = (try? client.access)?.held()?.snapshot.timestamp
            if held.map({ $0 < announced }) ?? true { try markStale(expected: announced) }
        } else {
            try markStale()
        }
        return true
    }
}
