import RemoteSettingsHTTP
import RemoteSettingsModel

/// Follows the update channel of one session.
///
/// It connects when its ``ConnectionSchedule`` says so, and syncs what was announced when a ``RequestSchedule`` says
/// so.
final class UpdateFollower: Sendable {
    private struct State {
        /// When connections are made; `nil` until the first one.
        var schedule: ConnectionSchedule?
        /// The part of the schedule that is in the storage directory.
        var kept = ConnectionSchedule.Kept()
        /// Why there is no connection.
        var reason = "earlier connections failed"
        /// What listeners were told last.
        var problem: UpdateProblem?
        /// Makes syncs. It starts with the first announcement.
        var syncs: Task<Void, Never>?
        var isEnded = false
    }

    private typealias Ending = (end: ConnectionSchedule.End, problem: UpdateSourceError)

    /// How often an open connection is checked for too long a silence.
    private static let look = Duration.seconds(45)

    let session: Session
    private let collections: @Sendable () -> [LocalCollection]
    private let tellListeners: @Sendable (UpdateProblem) -> Void
    private let requests: StateRequests
    private let state = Mutex(State())
    private let alarm = Alarm()
    private var environment: HTTPEnvironment { session.config.environment }

    /// - Parameters:
    ///   - collections: the collections of the service's clients.
    ///   - tell: called with the reason why updates do not reach the listeners, once for each cause.
    init(
        _ session: Session, collections: @escaping @Sendable () -> [LocalCollection],
        tell: @escaping @Sendable (UpdateProblem) -> Void
    ) {
        self.session = session
        self.collections = collections
        tellListeners = tell
        requests = StateRequests(
            .app(longestDelay: session.config.updates.longestDelay), environment: session.config.environment,
            seen: { session.seen(of: Set(collections().map(\.id))) })
    }

    /// What it is doing while a connection is wanted.
    var status: UpdateStatus {
        state.withLock { state in
            guard let schedule = state.schedule else { return .connecting }
            if schedule.isOpen { return .open }
            switch schedule.step(at: environment.uptime()) {
            case .wait(_?): return .waiting(reason: state.reason)
            case .giveUp: return .givenUp(reason: state.reason)
            case .wait(nil), .connect, .close: return .connecting
            }
        }
    }

    /// Forgets for good what was announced. A sync that is under way goes on.
    func end() {
        let syncs = state.withLock { state in
            state.isEnded = true
            return state.syncs
        }
        syncs?.cancel()
    }

    func note(_ reason: ConnectionSchedule.Reason) {
        withSchedule { $0?.note(reason, at: environment.uptime()) }
        alarm.ring()
        if case .network = reason { requests.note { $0.noteNetwork(at: $1.uptime) } }
    }

    private func withSchedule<Value: Sendable>(_ body: (inout ConnectionSchedule?) -> Value) -> Value {
        state.withLock { body(&$0.schedule) }
    }

    // MARK: Syncs

    /// Notes that something newer exists.
    ///
    /// - Parameters:
    ///   - announced: the monitor's timestamp; `nil` if it is not known.
    ///   - changed: the collections that have changed; `nil` if any may have.
    func announce(_ announced: Timestamp?, changed: [CollectionID]?, isFromChannel: Bool) {
        let present = Set(collections().map(\.id))
        guard !present.isEmpty else { return }
        let isWanted = changed?.contains(where: present.contains) ?? true
        noteForSyncs {
            $0.noteAnnounced(announced, isWanted: isWanted, isFromChannel: isFromChannel, at: $1)
        }
    }

    private func noteForSyncs(_ event: (inout RequestSchedule, Moment) -> Void) {
        requests.note(event)
        state.withLock { state in
            guard state.syncs == nil, !state.isEnded else { return }
            state.syncs = Task { await self.sync() }
        }
    }

    private func sync() async {
        var reason = ""
        await requests.run { request in
            let collections = collections()
            guard !collections.isEmpty else { return .irrelevant }
            switch await session.sync(collections, expected: request.announced, trigger: .broadcast) {
            case .failure(.Backoff(let seconds)): return .notBefore(seconds: Int(clamping: seconds))
            case .failure(let error):
                reason = "\(error)"
                return .failed
            case .success(let results):
                for case .failure(let error) in results.map(\.result) {
                    reason = "\(error)"
                    return .failed
                }
                let seen = session.seen(of: Set(collections.map(\.id))) ?? Timestamp(milliseconds: 0)
                let announced = request.announced.map { "\($0)" } ?? "a change"
                reason = "\(announced) was announced, and the server has \(seen)"
                return .seen(seen, isChanged: results.contains(where: \.isChanged))
            }
        } noted: { isVain in
            if isVain { tell(.notFetched(reason: reason)) }
        }
    }

    // MARK: Connections

    /// Keeps a connection until the task is cancelled.
    func run(_ name: String, _ source: any UpdateSource) async {
        begin(name)
        while !Task.isCancelled {
            switch withSchedule({ $0?.step(at: environment.uptime()) }) {
            case .wait(let pause): await alarm.wait(pause, environment)
            case .giveUp: await alarm.wait(nil, environment)
            case .connect, .close, nil:
                guard let (end, problem) = await follow(source, name) else { return }
                let step = state.withLock { state in
                    let moment = environment.moment
                    state.reason = problem.description
                    state.schedule?.noteEnd(end, at: moment)
                    return state.schedule?.step(at: moment.uptime)
                }
                session.logger.info("the update channel is closed: \(problem)")
                keep(name)
                if step == .giveUp || problem.kind == .unsupported { tell(.noConnection(problem)) }
            }
        }
    }

    /// Reads what was kept, and allows one more try, because this is a start or a new listener has come. Does I/O.
    private func begin(_ name: String) {
        let kept = ConnectionSchedule.Kept.read(
            session.storage.updatesPath, of: name, limits: session.limits, environment: environment)
        state.withLock { state in
            if state.schedule == nil {
                let rules = ConnectionSchedule.Rules.app(longestSilence: .seconds(session.limits.updateIdleSeconds))
                state.schedule = ConnectionSchedule(rules, kept: kept)
                state.kept = state.schedule?.kept ?? kept
            }
            state.schedule?.noteStart()
        }
    }

    /// Writes what the next start must know, if that has changed. Does I/O.
    private func keep(_ name: String) {
        let changed = state.withLock { state -> ConnectionSchedule.Kept? in
            guard let kept = state.schedule?.kept, kept != state.kept else { return nil }
            state.kept = kept
            return kept
        }
        // If it cannot be written, it still holds for this process.
        guard let changed, (try? session.storage.prepare()) != nil else { return }
        try? changed.write(to: session.storage.updatesPath, of: name, environment: environment)
    }

    /// Opens a connection, and passes on what it announces until it ends.
    ///
    /// - Returns: how it ended, for the schedule and for people; `nil` in a cancelled task.
    private func follow(_ source: any UpdateSource, _ name: String) async -> Ending? {
        withSchedule { $0?.noteConnecting() }
        let ending = await withTaskGroup(of: Ending?.self) { group in
            group.addTask { await self.read(source, name) }
            group.addTask { await self.silence() }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        requests.note { schedule, _ in schedule.noteClosed() }
        return Task.isCancelled ? nil : ending
    }

    /// Returns when nothing arrives over the open connection any more. Until it is open, its source limits the time.
    private func silence() async -> Ending? {
        while true {
            let step = withSchedule { $0?.step(at: environment.uptime()) }
            if step == .close(.silent) { return Self.ending(.silent) }
            let left = if case .wait(let left?) = step { left } else { Self.look }
            do { try await environment.sleep(min(left, Self.look)) } catch { return nil }
        }
    }

    private func read(_ source: any UpdateSource, _ name: String) async -> Ending {
        do throws(UpdateSourceError) {
            var connection = try await source.connect()
            withSchedule { $0?.noteOpened(at: environment.uptime()) }
            noteForSyncs { $0.noteOpened(at: $1) }
            var hasRefused = false
            while let message = try await connection.next() {
                // A channel that sends nothing but such messages is reported once.
                if case .refused(let error) = message, !hasRefused {
                    hasRefused = true
                    tell(.unreadable(reason: "\(error)"))
                }
                if let end = take(message, name) { return Self.ending(end) }
            }
            return Self.ending(.lost)
        } catch {
            switch error.kind {
            case .failed: return (.lost, error)
            case .unsupported: return (.unsupported, error)
            case .notBefore(let seconds): return (.notBefore(seconds: seconds), error)
            }
        }
    }

    private static func ending(_ end: ConnectionSchedule.End) -> Ending {
        (end, UpdateSourceError(end == .paused(.disabled) ? .unsupported : .failed, "\(end)"))
    }

    /// - Returns: how the connection is to end; `nil` if it goes on.
    private func take(_ message: UpdateMessage, _ name: String) -> ConnectionSchedule.End? {
        let (step, hasLasted) = state.withLock { state in
            let now = environment.uptime()
            state.schedule?.noteMessage(message, at: now)
            let hasLasted = state.schedule?.hasLasted(at: now) == true
            if hasLasted { state.problem = nil }
            return (state.schedule?.step(at: now), hasLasted)
        }
        if case .close(let end) = step { return end }
        if hasLasted { keep(name) }
        if case .event(.update(let timestamp, let changed)) = message {
            announce(timestamp, changed: changed, isFromChannel: true)
        }
        return nil
    }

    private func tell(_ problem: UpdateProblem) {
        let isNew = state.withLock { state in
            guard state.problem.map({ !$0.isOfOneCause(with: problem) }) ?? true else { return false }
            state.problem = problem
            return true
        }
        guard isNew else { return }
        session.logger.notice("the update channel \(session.updateChannel?.name ?? ""): \(problem)")
        tellListeners(problem)
    }
}
