import RemoteSettingsHTTP
import RemoteSettingsModel

/// Follows the update channel of one session, and syncs what is announced.
package final class UpdateFollower: Sendable {
    private struct State {
        /// What the storage directory has about failed connections.
        var kept = UpdateTiming.Kept()
        /// Why there is no connection.
        var reason = "earlier connections failed"
        /// What listeners were told last.
        var problem: UpdateProblem?
        /// Runs the loop. It starts with the first connection that is wanted, or with the first announcement.
        var task: Task<Void, Never>?
        var isEnded = false
    }

    /// More failed connections in a row are told.
    private static let mostFailures = 11
    /// More requests for one announcement in a row that were in vain are told.
    private static let mostAttempts = 5

    let session: Session
    private let collections: @Sendable () -> [LocalCollection]
    private let tellListeners: @Sendable (UpdateProblem) -> Void
    private let loop: UpdateLoop
    private let state = Mutex(State())

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
        let silence = Duration.seconds(session.limits.updateIdleSeconds)
        loop = UpdateLoop(
            .app(jitter: session.config.updates.jitter, longestSilence: silence),
            environment: session.config.environment, seen: { session.seen(of: Set(collections().map(\.id))) })
    }

    /// What it is doing while a connection is wanted.
    var status: UpdateStatus {
        let timing = loop.current
        if timing.isOpen { return .open }
        guard let wait = loop.untilConnection, wait > .zero else { return .connecting }
        let reason = state.withLock { $0.reason }
        return timing.failures > Self.mostFailures ? .givenUp(reason: reason) : .waiting(reason: reason)
    }

    func want(_ isWanted: Bool) {
        loop.want(isWanted)
        if isWanted { start() }
    }

    /// Notes that something newer exists.
    ///
    /// - Parameters:
    ///   - announced: the monitor's timestamp; `nil` if it is not known.
    ///   - changed: the collections that have changed; `nil` if any may have.
    func announce(_ announced: Timestamp?, changed: [CollectionID]?, isFromChannel: Bool) {
        let wanted = Set(collections().map(\.id))
        guard !wanted.isEmpty else { return }
        let isWanted = changed?.contains(where: wanted.contains) ?? true
        loop.record {
            $0.recordAnnouncement(announced, isWanted: isWanted, isFromChannel: isFromChannel, at: $1)
        }
        start()
    }

    func record(_ reason: UpdateTiming.Reason) { loop.record { $0.record(reason, at: $1.uptime) } }

    /// Ends the connection, and forgets for good what was announced.
    func end() {
        let task = state.withLock { state in
            state.isEnded = true
            return state.task
        }
        task?.cancel()
    }

    private func start() {
        state.withLock { state in
            guard state.task == nil, !state.isEnded else { return }
            state.task = Task { await self.run() }
        }
    }

    private func run() async {
        let channel = session.updateChannel
        if let channel { restore(channel.name) }
        await loop.run { () async throws(UpdateSourceError) in
            if let channel { try await self.read(channel.source) }
        } ask: { request in
            await self.sync(request)
        } keep: { kept in
            if let channel { keep(kept, of: channel.name) }
        } ended: { error in
            session.logger.info("the update channel is closed: \(error)")
            state.withLock { $0.reason = error.description }
            if error.kind == .unsupported || loop.current.failures > Self.mostFailures { tell(.noConnection(error)) }
            return true
        }
    }

    private func read(_ source: any UpdateSource) async throws(UpdateSourceError) {
        var connection = try await source.connect()
        loop.record { $0.recordOpened(at: $1) }
        var hasRefused = false
        while let message = try await connection.next() {
            // A channel that sends nothing but such messages is reported once.
            if case .refused(let error) = message, !hasRefused {
                hasRefused = true
                tell(.unreadable(reason: "\(error)"))
            }
            if let end = loop.record({ $0.record(message, at: $1) }) { throw end }
            if case .event(.update(let timestamp, let changed)) = message {
                announce(timestamp, changed: changed, isFromChannel: true)
            }
        }
    }

    private func sync(_ request: UpdateTiming.Request) async -> UpdateTiming.Answer {
        let collections = collections()
        guard !collections.isEmpty else { return .irrelevant }
        var failure: (any Error)?
        switch await session.sync(collections, expected: request.announced, trigger: .broadcast) {
        case .failure(.backoff(let pause)): return .notBefore(seconds: Int(clamping: pause.components.seconds))
        case .failure(let error): failure = error
        case .success(let results):
            for case .failure(let error) in results.map(\.result) { failure = error }
        }
        let seen = session.seen(of: Set(collections.map(\.id))) ?? Timestamp(milliseconds: 0)
        if request.attempts == Self.mostAttempts, failure != nil || request.newest.map({ seen < $0 }) == true {
            let older = "\(request.newest.map { "\($0)" } ?? "a change") was announced, and the server has \(seen)"
            tell(.notFetched(reason: failure.map { "\($0)" } ?? older))
        }
        return failure == nil ? .seen(seen) : .failed
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

// MARK: What is remembered about failed connections from one start to the next

extension UpdateFollower {
    /// What the index has about failed connections. The time is by this device's clock.
    package struct Kept: Hashable, Sendable {
        let channel: String
        let failures: Int
        let next: Timestamp?
        let isAsked: Bool
    }

    private var environment: HTTPEnvironment { session.config.environment }

    /// Reads what an earlier process has kept. What is about another channel counts as nothing. Does I/O.
    private func restore(_ channel: String) {
        guard let kept = session.storage.index().updates, kept.channel == channel else { return }
        let left = kept.next?.elapsed(since: environment.now()) ?? .zero
        // No pause is ever longer than this. A longer one means that the clock was set back, so the time is ignored.
        let isPossible = left <= (kept.isAsked ? UpdateTiming.longestAskedPause : UpdateTiming.longestPause)
        let timing = UpdateTiming.Kept(
            failures: kept.failures, until: isPossible ? environment.uptime() + left : .zero, isAsked: kept.isAsked)
        loop.record { current, _ in current.restore(timing) }
        state.withLock { $0.kept = loop.current.kept }
    }

    /// Writes it down if something has changed. Does I/O.
    private func keep(_ kept: UpdateTiming.Kept, of channel: String) {
        let isNew = state.withLock { state in
            guard kept != state.kept else { return false }
            // After a connection that lasted, the same problem is another one.
            if kept.failures < state.kept.failures { state.problem = nil }
            state.kept = kept
            return true
        }
        guard isNew else { return }
        let left = kept.until - environment.uptime()
        let note = Kept(
            channel: channel, failures: kept.failures,
            next: left > .zero ? environment.now().advanced(by: left) : nil, isAsked: kept.isAsked)
        session.remember { $0.updates = note }
    }
}

extension UpdateFollower.Kept {
    init?(_ json: JSONValue) {
        guard let channel = json["channel"]?.string else { return nil }
        self.init(
            channel: channel, failures: json.count("failures"), next: json.time("next"),
            isAsked: json["isAsked"] == .bool(true))
    }

    var json: JSONValue {
        .members([
            "channel": .string(channel), "failures": .count(failures), "next": next.map { .time($0) },
            "isAsked": .bool(isAsked),
        ])
    }
}
