import RemoteSettingsHTTP
import RemoteSettingsModel

/// A service's connection for announcements. It is open while there are listeners, and closed with the last one.
final class UpdateChannel: Sendable {
    private struct State {
        /// The follower of the current session.
        var follower: UpdateFollower?
        var isStarted = false
        var isPaused = false
        var isInBackground = false
        var isClosed = false
        /// Whether the follower keeps a connection open.
        var isFollowing = false
        var device: [Task<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let hasStreams: @Sendable () -> Bool
    /// Sends the reasons that announcements do not reach the listeners, each reason once.
    private let problems = Broadcast<UpdateProblem>()

    /// Creates a channel.
    ///
    /// - Parameter hasStreams: a closure that returns whether there are streams of changes. Call ``evaluate()``
    ///   whenever its result changes.
    init(hasStreams: @escaping @Sendable () -> Bool) { self.hasStreams = hasStreams }

    /// The current state, for apps.
    var status: UpdateStatus {
        let (follower, isOff) = state.withLock {
            ($0.isFollowing ? $0.follower : nil, $0.isPaused || $0.isInBackground)
        }
        return follower?.status ?? (isOff ? .paused : .idle)
    }

    // MARK: Demand for a connection

    /// Adds a listener that is removed when the returned object is released.
    ///
    /// - Parameter onProblem: a closure that is called once for each reason that announcements do not reach the
    ///   listeners.
    func listen(onProblem: @escaping @Sendable (UpdateProblem) -> Void) -> Subscription {
        let end = problems.receive(handle: onProblem)
        evaluate()
        return Subscription { [weak self] in
            end()
            self?.evaluate()
        }
    }

    func set(isStarted: Bool) { change { $0.isStarted = isStarted } }
    func set(isPaused: Bool) { change { $0.isPaused = isPaused } }
    func set(isInBackground: Bool) { change { $0.isInBackground = isInBackground } }

    private func change(_ change: (inout State) -> Void) {
        state.withLock { change(&$0) }
        evaluate()
    }

    /// Adopts a new configuration of the service that owns this object.
    func use(_ session: Session, of service: RemoteSettingsService) {
        let follower = UpdateFollower(session, problems) { [weak service] in service?.clientCollections ?? [] }
        session.onAnswer { [weak follower] in follower?.retry(isOtherNetwork: false) }
        let old = state.withLock { state in
            defer { state.follower = follower }
            return state.follower
        }
        evaluate()
        old?.end()
    }

    func close() {
        change { $0.isClosed = true }
        state.withLock { $0.follower }?.end()
    }

    /// Handles a network change, after which failed requests may succeed.
    func networkChanged() {
        let follower = state.withLock { $0.follower }
        follower?.session.failures.forget()
        follower?.retry(isOtherNetwork: true)
    }

    /// Handles an announcement of new data that did not come from the channel.
    func announce(_ announced: Timestamp?, changed: [CollectionID]?) {
        state.withLock { $0.follower }?.announce(announced, changed: changed, isFromChannel: false)
    }

    /// Opens or closes the connection, depending on the current demand.
    ///
    /// Callers change the conditions before this call. So if several calls are concurrent, the last one sees the final
    /// conditions.
    func evaluate() {
        let ended = state.withLock { state in
            let isWanted = state.isStarted || !problems.isEmpty || hasStreams()
            let isAllowed = !state.isClosed && !state.isPaused && !state.isInBackground
            state.isFollowing = isWanted && isAllowed && state.follower?.session.updateChannel != nil
            state.follower?.want(state.isFollowing)
            var ended: [Task<Void, Never>] = []
            if state.isFollowing, state.device.isEmpty {
                state.device = deviceWatch()
            } else if !state.isFollowing, !state.isInBackground {
                // In the background, the watch must continue to detect the return to the foreground.
                swap(&ended, &state.device)
            }
            return ended
        }
        for task in ended { task.cancel() }
    }
}

/// A reason that announcements do not reach the listeners.
package enum UpdateProblem: Hashable, Sendable {
    /// No connection could be opened for a long time.
    case noConnection(UpdateEnd)
    /// An announcement cannot be read.
    case unreadable(reason: String)
    /// New data was announced, but several syncs did not find it.
    case notFetched(reason: String)
}

extension UpdateProblem {
    /// Returns whether both problems have the same cause, so that listeners are notified only once.
    ///
    /// All unreadable messages have the same cause. Otherwise, their sender could cause any number of notifications by
    /// sending different ones.
    func isOfOneCause(with other: UpdateProblem) -> Bool {
        if case .unreadable = self, case .unreadable = other { true } else { self == other }
    }
}

extension UpdateProblem: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noConnection(let error): error.description
        case .unreadable(let reason): "cannot read an announcement: \(reason)"
        case .notFetched(let reason): "cannot fetch the announced change: \(reason)"
        }
    }
}
