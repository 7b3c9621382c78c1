import RemoteSettingsHTTP
import RemoteSettingsModel

/// A follower of one session's update channel: it keeps one connection open, and starts syncs after announcements.
///
/// An ``UpdateTiming`` decides when to connect and sync.
package final class UpdateFollower: Sendable {
    private struct State {
        var timing: UpdateTiming
        /// The data about failed connections in the storage directory.
        var kept = UpdateTiming.Kept()
        /// The reason that there is no connection.
        var reason = "earlier connections failed"
        /// The problem that listeners were last notified of.
        var problem: UpdateProblem?
        /// The task that runs the loop. It is created for the first required connection, or for the first announcement.
        var task: Task<Void, Never>?
        var isEnded = false
    }

    /// Listeners are notified after more consecutive failed connections than this.
    private static let mostFailures = 11
    /// The number of consecutive requests without the announced data after which listeners are notified.
    private static let mostAttempts = 5

    let session: Session
    private let problems: Broadcast<UpdateProblem>
    private let collections: @Sendable () -> [LocalCollection]
    private let state: Mutex<State>
    /// A stream with an element whenever an action may be due.
    private let calls = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    private var environment: HTTPEnvironment { session.config.environment }

    /// Creates a follower.
    ///
    /// - Parameters:
    ///   - problems: receives the reasons that announcements do not reach the listeners, once for each cause.
    ///   - collections: a closure that returns the collections of the service's clients.
    init(
        _ session: Session, _ problems: Broadcast<UpdateProblem>,
        collections: @escaping @Sendable () -> [LocalCollection]
    ) {
        (self.session, self.problems, self.collections) = (session, problems, collections)
        state = Mutex(
            State(
                timing: UpdateTiming(
                    jitter: session.config.updates.jitter,
                    longestSilence: .seconds(Limits.updateIdleSeconds))))
    }

    /// The current status while a connection is needed.
    var status: UpdateStatus {
        let (timing, reason) = state.withLock { ($0.timing, $0.reason) }
        if timing.isOpen { return .open }
        guard let due = timing.connectionDue, due > environment.uptime() else { return .connecting }
        return timing.failures > Self.mostFailures ? .givenUp(reason: reason) : .waiting(reason: reason)
    }

    func want(_ isWanted: Bool) {
        state.withLock { $0.timing.wantsConnection = isWanted }
        calls.continuation.yield()
        if isWanted { start() }
    }

    /// Handles an announcement of new data.
    ///
    /// - Parameters:
    ///   - announced: the monitor's timestamp; `nil` if it is not known.
    ///   - changed: the changed collections; `nil` if all may have changed.
    func announce(_ announced: Timestamp?, changed: [CollectionID]?, isFromChannel: Bool) {
        let wanted = Set(collections().map(\.id))
        guard !wanted.isEmpty else { return }
        let isWanted = changed?.contains(where: wanted.contains) ?? true
        record { $0.recordAnnouncement(announced, isWanted: isWanted, isFromChannel: isFromChannel, at: $1) }
        start()
    }

    /// Allows an immediate retry, because the network has changed or the server has answered a request.
    func retry(isOtherNetwork: Bool) { record { $0.retry(isOtherNetwork: isOtherNetwork, at: $1.uptime) } }

    /// Closes the connection for good, and discards all announcements.
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

    @discardableResult
    private func record<Value: Sendable>(_ event: (inout UpdateTiming, Moment) -> Value) -> Value {
        let (seen, moment) = (session.seen(of: Set(collections().map(\.id))), environment.moment)
        let (value, isNews) = state.withLock { state in
            let before = state.timing
            if let seen { state.timing.seen = seen }
            let value = event(&state.timing, moment)
            return (value, state.timing.isDue(before: before) || state.timing.kept != before.kept)
        }
        // A server may send any number of messages, so wake the loop only for those that can make an action due sooner.
        if isNews { calls.continuation.yield() }
        return value
    }

    private func run() async {
        let channel = session.updateChannel
        if let channel { restore(channel.name) }
        calls.continuation.yield()
        var (reader, asker, sleeper): (Task<Void, Never>?, Task<Void, Never>?, Task<Void, Never>?)
        for await _ in calls.stream {
            sleeper?.cancel()
            while let next = state.withLock({ $0.timing.next }), next.due <= environment.uptime(), !Task.isCancelled {
                switch next.step {
                case .connect:
                    record { timing, now in timing.recordConnecting(at: now.uptime) }
                    if let source = channel?.source { reader = Task { await self.read(source) } }
                case .close:
                    reader?.cancel()
                    await reader?.value
                    let isWanted = state.withLock { $0.timing.wantsConnection }
                    ended(isWanted ? UpdateEnd(.failed, "no data was received on the connection for too long") : nil)
                case .ask:
                    guard let request = record({ $0.nextRequest(at: $1) }) else { continue }
                    asker = Task {
                        let answer = await self.sync(request)
                        self.record { $0.record(answer, at: $1) }
                    }
                }
            }
            if let channel { keep(of: channel.name) }
            guard let due = state.withLock({ $0.timing.next?.due }) else { continue }
            sleeper = Task {
                guard (try? await self.environment.sleep(due - self.environment.uptime())) != nil else { return }
                self.calls.continuation.yield()
            }
        }
        sleeper?.cancel()
        for task in [reader, asker] {
            task?.cancel()
            await task?.value
        }
    }

    /// Reads one connection until it closes, and handles the reason.
    private func read(_ source: any UpdateSource) async {
        let end = await end(of: source)
        if !Task.isCancelled { ended(end) }
    }

    /// Reads one connection until it closes.
    ///
    /// - Returns: the reason that it could not be opened or was closed.
    private func end(of source: any UpdateSource) async -> UpdateEnd {
        var connection: any UpdateConnection
        do throws(Failure) {
            connection = try await source.connect()
        } catch {
            return UpdateEnd(notOpened: error)
        }
        record { $0.recordOpened(at: $1) }
        var hasRefused = false
        do throws(Failure) {
            while let message = try await connection.next() {
                // Listeners are notified only once per connection, even if all of its messages are unreadable.
                if case .refused(let error) = message, !hasRefused {
                    hasRefused = true
                    tell(.unreadable(reason: "\(error)"))
                }
                if let end = record({ $0.record(message, at: $1) }) { return end }
                if case .event(.update(let timestamp, let changed)) = message {
                    announce(timestamp, changed: changed, isFromChannel: true)
                }
            }
            return UpdateEnd(.failed, "the server closed the connection")
        } catch {
            return UpdateEnd(.failed, "\(error)")
        }
    }

    /// Handles a closed connection.
    ///
    /// - Parameter error: the reason; `nil` if the connection was closed because it is no longer needed.
    private func ended(_ error: UpdateEnd?) {
        if let error { state.withLock { $0.reason = error.description } }
        let failures = record {
            $0.recordEnd(error, at: $1)
            return $0.failures
        }
        guard let error else { return }
        session.logger.info("the update channel is closed: \(error)")
        if error.kind == .unsupported || failures > Self.mostFailures { tell(.noConnection(error)) }
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
            let older =
                "\(request.newest.map { "timestamp \($0)" } ?? "a change") was announced; the server still has \(seen)"
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
        session.logger.notice("update channel \(session.updateChannel?.name ?? ""): \(problem)")
        problems.send(problem)
    }
}

// MARK: Storing failed connections for the next start

extension UpdateFollower {
    /// Reads the data stored by an earlier process. Data about a different channel is ignored. Does I/O.
    private func restore(_ channel: String) {
        guard let kept = session.storage.index().updates, kept.channel == channel else { return }
        let left = kept.next?.elapsed(since: environment.now()) ?? .zero
        // No wait is ever longer than this. If the remaining time is longer, the clock was set back, so the stored time
        // is ignored.
        let isPossible = left <= (kept.isAsked ? UpdateTiming.longestAskedPause : UpdateTiming.longestPause)
        let timing = UpdateTiming.Kept(
            failures: kept.failures, until: isPossible ? environment.uptime() + left : .zero, isAsked: kept.isAsked)
        state.withLock { state in
            state.timing.restore(timing)
            state.kept = state.timing.kept
        }
    }

    /// Writes the data if it has changed. Does I/O.
    private func keep(of channel: String) {
        let new = state.withLock { state -> UpdateTiming.Kept? in
            let kept = state.timing.kept
            guard kept != state.kept else { return nil }
            // If the number of failures has dropped, a connection worked in the meantime, so listeners must be notified
            // even if the next problem is the same.
            if kept.failures < state.kept.failures { state.problem = nil }
            state.kept = kept
            return kept
        }
        guard let new else { return }
        let left = new.until - environment.uptime()
        let note = KeptConnection(
            channel: channel, failures: new.failures,
            next: left > .zero ? environment.now().advanced(by: left) : nil, isAsked: new.isAsked)
        session.remember { $0.updates = note }
    }
}
