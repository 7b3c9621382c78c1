import RemoteSettingsHTTP
import RemoteSettingsModel
import Locks
import UpdateSchedule

/// The syncs of a session that announcements start, when its ``RequestSchedule`` says so.
final class UpdateSyncs: Sendable {
    private struct State {
        var schedule: RequestSchedule
        /// Works while something is due.
        var worker: Task<Void, Never>?
        var isEnded = false
    }

    private let session: Session
    private let collections: @Sendable () -> [LocalCollection]
    private let onVain: @Sendable (_ reason: String) -> Void
    private let state: Mutex<State>
    private let alarm = Alarm()
    private var environment: HTTPEnvironment { session.config.environment }

    /// - Parameters:
    ///   - collections: the collections of the service's clients.
    ///   - onVain: called with the reason where several syncs in a row did not bring what was announced; they go on.
    init(
        _ session: Session, collections: @escaping @Sendable () -> [LocalCollection],
        onVain: @escaping @Sendable (_ reason: String) -> Void
    ) {
        self.session = session
        self.collections = collections
        self.onVain = onVain
        state = Mutex(State(schedule: RequestSchedule(.app(longestDelay: session.config.updates.longestDelay))))
    }

    func noteOpened() { note { [random = environment.random()] in $0.noteOpened(at: $1, random: random) } }

    func noteClosed() { note { schedule, _ in schedule.noteClosed() } }

    func noteNetwork() { note { $0.noteNetwork(at: $1) } }

    /// Something newer exists.
    ///
    /// - Parameters:
    ///   - announced: the monitor's timestamp; `nil` where it is not known.
    ///   - changed: the collections that have changed; `nil` where any may have.
    ///   - isFromChannel: whether the connection to the channel told it.
    func announce(_ announced: Timestamp?, changed: [CollectionID]?, isFromChannel: Bool) {
        let present = Set(collections().map(\.id))
        guard !present.isEmpty else { return }
        let (seen, time, random) = (session.seen(of: present), session.now, environment.random())
        note { schedule, now in
            schedule.seen = seen
            schedule.noteAnnounced(
                announced, isWanted: changed?.contains(where: present.contains) ?? true, isFromChannel: isFromChannel,
                at: now, time: time, random: random)
        }
    }

    /// Forgets what was announced. A sync that is under way goes on.
    func end() {
        let worker = state.withLock { state in
            state.isEnded = true
            return state.worker
        }
        worker?.cancel()
    }

    private func note(_ change: (inout RequestSchedule, Duration) -> Void) {
        let now = environment.uptime()
        state.withLock { state in
            change(&state.schedule, now)
            guard state.worker == nil, !state.isEnded, state.schedule.step(at: now) != .wait(nil) else { return }
            state.worker = Task { await self.work() }
        }
        alarm.ring()
    }

    private func work() async {
        while !Task.isCancelled {
            let step = state.withLock { state in
                let step = state.schedule.step(at: environment.uptime())
                if step == .wait(nil) { state.worker = nil }
                return step
            }
            switch step {
            case .wait(nil): return
            case .wait(let pause): await alarm.wait(pause, environment)
            case .ask: await sync()
            }
        }
    }

    private func sync() async {
        let collections = collections()
        let present = Set(collections.map(\.id))
        let seen = session.seen(of: present)
        let request = state.withLock { state in
            state.schedule.seen = seen
            return state.schedule.take(at: environment.uptime(), time: session.now)
        }
        guard let request else { return }
        guard !present.isEmpty else { return state.withLock { $0.schedule.noteIrrelevance() } }
        let result = await session.sync(collections, expected: request.announced, trigger: .broadcast)
        let (now, time, random) = (environment.uptime(), session.now, environment.random())
        let answered = session.seen(of: present) ?? Timestamp(milliseconds: 0)
        var reason = "\(request.announced.map { "\($0)" } ?? "a change") was announced, and the server has \(answered)"
        let isVain = state.withLock { state in
            switch result {
            case .failure(.Backoff(let seconds)):
                state.schedule.notePause(seconds: Int(clamping: seconds), at: now)
                return false
            case .success(let results):
                for case .failure(let error) in results.map(\.result) {
                    reason = "\(error)"
                    state.schedule.noteFailure(at: now, random: random)
                    return state.schedule.isVain
                }
                state.schedule.noteAnswer(
                    seen: answered, isChanged: results.contains(where: \.isChanged), at: now, time: time, random: random
                )
            case .failure(let error):
                reason = "\(error)"
                state.schedule.noteFailure(at: now, random: random)
            }
            return state.schedule.isVain
        }
        if isVain { onVain(reason) }
    }
}
