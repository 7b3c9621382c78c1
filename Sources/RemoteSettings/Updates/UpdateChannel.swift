import RemoteSettingsHTTP
import RemoteSettingsModel
import Locks
import UpdateEvents
import UpdateSchedule

/// A service's connection to its update channel: kept while somebody listens, opened again when its ``ConnectionSchedule``
/// says so, and closed with the last listener.
final class UpdateChannel: Sendable {
    /// How often an open connection is looked at, lest it is silent for too long.
    private static let look = Duration.seconds(45)

    private struct State {
        var session: Session
        weak var service: RemoteSettingsService?
        /// What listeners are told where they do not hear of what is published.
        var listeners: [Int: @Sendable (UpdateProblem) -> Void] = [:]
        var count = 0
        var isStarted = false
        var isPaused = false
        var isInBackground = false
        var isClosed = false
        /// The loop that keeps the connection, while one is wanted.
        var loop: Task<Void, Never>?
        /// The one before it, which may still be closing its connection.
        var ended: Task<Void, Never>?
        /// When connections are made; `nil` until the first one.
        var schedule: ConnectionSchedule?
        /// What of that is in the storage directory.
        var kept = ConnectionSchedule.Kept()
        var syncs: UpdateSyncs?
        var device: [Task<Void, Never>] = []
        var status = UpdateStatus.idle
        /// What listeners were told last.
        var problem: UpdateProblem?

        func isWanted(_ hasStreams: Bool) -> Bool {
            !isClosed && !isPaused && !isInBackground && (isStarted || hasStreams || !listeners.isEmpty)
        }
    }

    private let state: Mutex<State>
    private let hasStreams: @Sendable () -> Bool
    private let alarm = Alarm()

    /// - Parameter hasStreams: whether there are streams of changes. ``evaluate()`` is called whenever that has changed.
    init(_ session: Session, hasStreams: @escaping @Sendable () -> Bool) {
        self.hasStreams = hasStreams
        state = Mutex(State(session: session))
        session.onAnswer { [weak self] in self?.noteAnswer() }
    }

    /// The service whose collections are synced; it owns this object.
    func attach(_ service: RemoteSettingsService) { state.withLock { $0.service = service } }

    var status: UpdateStatus { state.withLock { $0.status } }

    // MARK: Who wants a connection

    /// Listens until the returned object is released.
    ///
    /// - Parameter onProblem: called once for each reason why listeners do not hear of what is published.
    func listen(onProblem: @escaping @Sendable (UpdateProblem) -> Void) -> UpdateListening {
        let number = state.withLock { state in
            state.count += 1
            state.listeners[state.count] = onProblem
            return state.count
        }
        evaluate()
        return UpdateListening { [weak self] in
            self?.state.withLock { _ = $0.listeners.removeValue(forKey: number) }
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

    /// Another configuration is in force.
    func use(_ session: Session) {
        session.onAnswer { [weak self] in self?.noteAnswer() }
        let old = state.withLock { state in
            state.session = session
            (state.problem, state.schedule) = (nil, nil)
            if let loop = state.loop { state.ended = loop }
            defer { (state.loop, state.syncs) = (nil, nil) }
            return (state.loop, state.syncs)
        }
        old.0?.cancel()
        old.1?.end()
        evaluate()
    }

    func close() {
        let syncs = state.withLock { state in
            state.isClosed = true
            return state.syncs
        }
        evaluate()
        syncs?.end()
    }

    /// The network has changed: what failed before may work now.
    func networkChanged() {
        note(.network)
        let (session, syncs) = state.withLock { ($0.session, $0.syncs) }
        session.failures.forget()
        syncs?.noteNetwork()
    }

    /// A sync has reached the server: a channel that waits may work again.
    private func noteAnswer() { note(.answer) }

    private func note(_ reason: ConnectionSchedule.Reason) {
        state.withLock { $0.schedule?.note(reason, at: $0.session.config.environment.uptime()) }
        alarm.ring()
    }

    /// Something newer was announced, over the channel or by another way.
    func announce(_ announced: Timestamp?, changed: [CollectionID]?, isFromChannel: Bool = false) {
        guard let syncs = presentSyncs() else { return }
        syncs.announce(announced, changed: changed, isFromChannel: isFromChannel)
    }

    private func presentSyncs() -> UpdateSyncs? {
        state.withLock { state in
            guard !state.session.isClosed, !state.isClosed else { return nil }
            let syncs =
                state.syncs
                ?? UpdateSyncs(state.session) { [weak service = state.service] in
                    service?.clientCollections ?? []
                } onVain: { [weak self, session = state.session] reason in
                    self?.tell(.notFetched(reason: reason), session)
                }
            state.syncs = syncs
            return syncs
        }
    }

    /// Starts or ends the loop as it is wanted now. What that depends on has changed before the call, so that the last of
    /// several calls at once decides by what is true in the end.
    func evaluate() {
        let ended = state.withLock { state -> [Task<Void, Never>] in
            let session = state.session
            guard state.isWanted(hasStreams()), session.updateChannel != nil else {
                let ended = state.loop
                state.status = state.isPaused || state.isInBackground ? .paused : .idle
                if let ended { state.ended = ended }
                state.loop = nil
                // In the background, the device still has to say when that ends.
                if state.isInBackground { return [ended].compactMap(\.self) }
                defer { state.device = [] }
                return [ended].compactMap(\.self) + state.device
            }
            guard state.loop == nil else { return [] }
            if state.device.isEmpty { state.device = deviceWatch() }
            state.status = .connecting
            let previous = state.ended
            state.loop = Task { [weak self] in
                // One connection at a time.
                await previous?.value
                await self?.run(session)
            }
            return []
        }
        for task in ended { task.cancel() }
    }

    // MARK: The loop

    private func run(_ session: Session) async {
        guard let (name, source) = session.updateChannel else { return }
        let environment = session.config.environment
        begin(name, session)
        var reason = "earlier connections failed"
        while !Task.isCancelled {
            let step = state.withLock { state in
                state.session === session ? state.schedule?.step(at: environment.uptime()) : nil
            }
            guard let step else { return }
            switch step {
            case .connect, .close:
                setStatus(.connecting, session)
                guard let (end, problem) = await follow(source, session) else { return }
                reason = problem.description
                noteEnd(end, problem, name, session)
            case .wait(let pause):
                setStatus(.waiting(reason: reason), session)
                await alarm.wait(pause, environment)
            case .giveUp:
                setStatus(.givenUp(reason: reason), session)
                await alarm.wait(nil, environment)
            }
        }
    }

    /// A start, or whoever listens anew, is a reason for one more try.
    private func begin(_ name: String, _ session: Session) {
        let rules = ConnectionSchedule.Rules.app(longestSilence: .seconds(session.limits.updateIdleSeconds))
        let kept = ConnectionSchedule.Kept.read(
            session.storage.updatesPath, of: name, limits: session.limits, environment: session.config.environment)
        state.withLock { state in
            guard state.session === session else { return }
            if state.schedule == nil {
                state.schedule = ConnectionSchedule(rules, kept: kept)
                state.kept = state.schedule?.kept ?? kept
            }
            state.schedule?.noteStart()
        }
    }

    /// A connection has ended, or did not come about.
    private func noteEnd(
        _ end: ConnectionSchedule.End, _ problem: UpdateSourceError, _ name: String, _ session: Session
    ) {
        let environment = session.config.environment
        let (now, random) = (environment.uptime(), environment.random())
        let step = withSchedule(of: session) { schedule in
            schedule.noteEnd(end, at: now, random: random)
            return schedule.step(at: now)
        }
        session.logger.info("the update channel is closed: \(problem)")
        keep(name, session)
        // The status says the same by the time that listeners hear of it.
        let isLasting = step == .giveUp || problem.kind == .unsupported
        guard isLasting else { return }
        setStatus(
            step == .giveUp ? .givenUp(reason: problem.description) : .waiting(reason: problem.description), session)
        tell(.noConnection(problem), session)
    }

    private func withSchedule<Value>(
        of session: Session, _ body: (inout ConnectionSchedule) -> Value
    ) -> Value? {
        state.withLock { state in
            guard state.session === session, var schedule = state.schedule else { return nil }
            defer { state.schedule = schedule }
            return body(&schedule)
        }
    }

    /// Writes down what the next start has to know, if that has changed. Does I/O.
    private func keep(_ name: String, _ session: Session) {
        let changed = state.withLock { state -> ConnectionSchedule.Kept? in
            guard state.session === session, let kept = state.schedule?.kept, kept != state.kept else { return nil }
            state.kept = kept
            return kept
        }
        guard let changed else { return }
        // Where it cannot be kept, it holds for this process.
        try? session.storage.prepare()
        try? changed.write(to: session.storage.updatesPath, of: name, environment: session.config.environment)
    }

    private func setStatus(_ status: UpdateStatus, _ session: Session) {
        state.withLock { state in
            if state.session === session, state.loop != nil, !Task.isCancelled { state.status = status }
        }
    }

    /// Tells listeners why they do not hear of what is published, once for each cause.
    private func tell(_ problem: UpdateProblem, _ session: Session) {
        let listeners = state.withLock { state -> [@Sendable (UpdateProblem) -> Void] in
            guard state.problem.map({ !$0.isOfOneCause(with: problem) }) ?? true else { return [] }
            state.problem = problem
            return Array(state.listeners.values)
        }
        session.logger.notice("the update channel \(session.updateChannel?.name ?? ""): \(problem)")
        for tell in listeners { tell(problem) }
    }

    // MARK: One connection

    /// Opens a connection, and passes on what it announces until it ends.
    ///
    /// - Returns: how it ended, for the schedule and for people; `nil` in a cancelled task.
    private func follow(
        _ source: any UpdateSource, _ session: Session
    ) async -> (end: ConnectionSchedule.End, problem: UpdateSourceError)? {
        let environment = session.config.environment
        _ = withSchedule(of: session) { $0.noteConnecting(at: environment.uptime()) }
        let reader = Task { [weak self] in await self?.read(source, session) }
        // Ends a connection on which nothing arrives any more. Before it is open, its source watches over the time.
        let watch = Task { [weak self] in
            while true {
                switch self?.withSchedule(of: session, { $0.step(at: environment.uptime()) }) {
                case .close(.silent):
                    reader.cancel()
                    return true
                case .wait(let left):
                    do { try await environment.sleep(min(left ?? Self.look, Self.look)) } catch { return false }
                case .connect, .giveUp, .close, nil: return false
                }
            }
        }
        let end = await withTaskCancellationHandler {
            await reader.value
        } onCancel: {
            reader.cancel()
        }
        watch.cancel()
        let isSilent = await watch.value
        state.withLock { $0.session === session ? $0.syncs : nil }?.noteClosed()
        if Task.isCancelled { return nil }
        return isSilent ? (.silent, UpdateSourceError(.failed, "nothing arrived any more")) : end
    }

    private func read(
        _ source: any UpdateSource, _ session: Session
    ) async -> (end: ConnectionSchedule.End, problem: UpdateSourceError) {
        do throws(UpdateSourceError) {
            var connection = try await source.connect()
            _ = withSchedule(of: session) { $0.noteOpened(at: session.config.environment.uptime()) }
            setStatus(.open, session)
            presentSyncs()?.noteOpened()
            var hasRefused = false
            while let message = try await connection.next() {
                // A channel that sends nothing but such messages is told of once.
                if case .refused(let error) = message, !hasRefused {
                    hasRefused = true
                    tell(.unreadable(reason: "\(error)"), session)
                }
                if let end = take(message, session) { return end }
            }
            return (.lost, UpdateSourceError(.failed, "the server ended the connection"))
        } catch {
            switch error.kind {
            case .failed: return (.lost, error)
            case .unsupported: return (.unsupported, error)
            case .notBefore(let seconds): return (.notBefore(seconds: seconds), error)
            }
        }
    }

    /// - Returns: how the connection is to end; `nil` where it goes on.
    private func take(
        _ message: UpdateMessage, _ session: Session
    ) -> (end: ConnectionSchedule.End, problem: UpdateSourceError)? {
        let now = session.config.environment.uptime()
        let step = withSchedule(of: session) { schedule in
            schedule.noteMessage(message, at: now)
            return schedule.step(at: now)
        }
        if case .close(let end) = step {
            switch end {
            case .paused(.disabled):
                return (end, UpdateSourceError(.unsupported, "the server has switched its update channel off"))
            case .paused: return (end, UpdateSourceError(.failed, "the server asked for a pause"))
            default:
                return (
                    end,
                    UpdateSourceError(
                        .failed, "more than \(MessageRate.mostPerMinute) messages arrived within a minute")
                )
            }
        }
        if withSchedule(of: session, { $0.hasLasted(at: now) }) == true {
            state.withLock { $0.problem = nil }
            if let name = session.updateChannel?.name { keep(name, session) }
        }
        if case .event(.update(let timestamp, let changed)) = message {
            announce(timestamp, changed: changed, isFromChannel: true)
        }
        return nil
    }
}

/// Why listeners do not hear of what is published.
package enum UpdateProblem: Hashable, Sendable {
    /// There is no connection for a longer time.
    case noConnection(UpdateSourceError)
    /// An announcement cannot be read.
    case unreadable(reason: String)
    /// Something newer was announced, and several syncs did not bring it.
    case notFetched(reason: String)
}

extension UpdateProblem {
    /// Whether listeners that were told one need not be told the other. Of messages that cannot be read, the sender chooses the
    /// text: each text told would let it make apps connect anew without end.
    func isOfOneCause(with other: UpdateProblem) -> Bool {
        if case .unreadable = self, case .unreadable = other { true } else { self == other }
    }
}

extension UpdateProblem: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noConnection(let error): error.description
        case .unreadable(let reason): "an announcement cannot be read: \(reason)"
        case .notFetched(let reason): "what was announced could not be fetched: \(reason)"
        }
    }
}

/// Somebody whom a service tells of something, until this is released.
package final class UpdateListening: Sendable {
    private let end: @Sendable () -> Void

    init(end: @escaping @Sendable () -> Void) { self.end = end }

    deinit { end() }
}
