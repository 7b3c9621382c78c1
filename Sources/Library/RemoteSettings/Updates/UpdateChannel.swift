import RemoteSettingsHTTP
import RemoteSettingsModel

/// A service's connection to its update channel. It is kept while somebody listens, and closed with the last listener.
final class UpdateChannel: Sendable {
    private struct State {
        /// The follower of the session in force.
        var follower: UpdateFollower?
        var isStarted = false
        var isPaused = false
        var isInBackground = false
        var isClosed = false
        /// Whether the follower keeps a connection.
        var isFollowing = false
        var device: [Task<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let hasStreams: @Sendable () -> Bool
    /// Why listeners do not hear of what is published, once for each reason.
    private let problems = Broadcast<UpdateProblem>()

    /// - Parameter hasStreams: whether there are streams of changes. ``evaluate()`` must be called after each change of
    ///   it.
    init(hasStreams: @escaping @Sendable () -> Bool) { self.hasStreams = hasStreams }

    /// The current state, as apps see it.
    var status: UpdateStatus {
        let (follower, isOff) = state.withLock {
            ($0.isFollowing ? $0.follower : nil, $0.isPaused || $0.isInBackground)
        }
        return follower?.status ?? (isOff ? .paused : .idle)
    }

    // MARK: Who wants a connection

    /// Listens until the returned object is released.
    ///
    /// - Parameter onProblem: called once for each reason why listeners do not hear of what is published.
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

    /// Takes over another configuration of the service that owns this object.
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

    /// Notes that the network has changed: what failed before may work now.
    func networkChanged() {
        let follower = state.withLock { $0.follower }
        follower?.session.failures.forget()
        follower?.retry(isOtherNetwork: true)
    }

    /// Notes that something newer was announced by another way than the channel.
    func announce(_ announced: Timestamp?, changed: [CollectionID]?) {
        state.withLock { $0.follower }?.announce(announced, changed: changed, isFromChannel: false)
    }

    /// Asks for a connection, or for none, as is wanted now.
    ///
    /// Callers change the conditions before the call. So of several concurrent calls, the last one decides by the final
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
                // In the background the watch continues, because the device has to say when the background ends.
                swap(&ended, &state.device)
            }
            return ended
        }
        for task in ended { task.cancel() }
    }
}

/// Why updates do not reach the listeners.
package enum UpdateProblem: Hashable, Sendable {
    /// No connection could be made for a longer time.
    case noConnection(UpdateEnd)
    /// An announcement cannot be read.
    case unreadable(reason: String)
    /// Something newer was announced, but several syncs did not bring it.
    case notFetched(reason: String)
}

extension UpdateProblem {
    /// Whether listeners that know one problem need not be told the other.
    ///
    /// The sender chooses the text of a message that cannot be read. If each text were told, the sender could make apps
    /// reconnect without end.
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
