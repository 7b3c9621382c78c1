import RemoteSettingsHTTP
import RemoteSettingsModel
import Synchronization
import UpdateEvents
import UpdateSchedule

/// A service's connection to its update channel: kept while somebody listens, opened again by the rules of
/// ``UpdateRetries``, and closed with the last listener.
final class UpdateChannel: Sendable {
    /// A connection that lasted so long was a success.
    private static let successAfter = Duration.seconds(60)
    /// Connections that were shorter, one after the other, before the next such one counts as a failure.
    private static let mostShortConnections = 3
    /// The pause after a connection that was open, unless the server names another one.
    private static let reconnectionTime = Duration.seconds(5)
    private static let reconnectionTimes = Duration.seconds(1)...Duration.seconds(300)
    /// A server that says nothing for so long after the connection was opened is asked for its state.
    private static let firstEventTime = Duration.seconds(10)
    /// How long the silence is where the server sends heartbeats: three of them, though at least so long.
    private static let shortestSilence = Duration.seconds(45)
    /// How long it is after a single heartbeat, where the time between two is not known yet: three times the longest time that
    /// servers are known to leave, which is that of Mozilla's push service.
    private static let silenceAfterHeartbeat = Duration.seconds(900)
    /// How soon a change of the network leads to another try.
    private static let afterNetworkChange = Duration.seconds(30)

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
        /// The uptime of the last try.
        var lastTry: Duration?
        /// The uptime before which there is no connection, because the server has switched its channel off.
        var disabledUntil = Duration.zero
        var device: [Task<Void, Never>] = []
        var status = UpdateStatus.idle
        /// Counts the reasons to look at the time again.
        var reasons = 0
        /// Whether there was a reason to try again, though time has not allowed it yet.
        var mayTry = false
        var sleeper: Task<Void, Never>?
        /// What listeners were told last.
        var problem: UpdateProblem?

        func isWanted(_ hasStreams: Bool) -> Bool {
            !isClosed && !isPaused && !isInBackground && (isStarted || hasStreams || !listeners.isEmpty)
        }
    }

    private let state: Mutex<State>
    private let hasStreams: @Sendable () -> Bool
    private let syncs = UpdateSyncs()

    /// - Parameter hasStreams: whether there are streams of changes. ``evaluate()`` is called whenever that has changed.
    init(_ session: Session, hasStreams: @escaping @Sendable () -> Bool) {
        self.hasStreams = hasStreams
        state = Mutex(State(session: session))
        session.onAnswer { [weak self] in self?.noteAnswer() }
        syncs.onGivenUp { [weak self] reason, session in self?.tell(.notFetched(reason: reason), session) }
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
            (state.problem, state.disabledUntil) = (nil, .zero)
            if let loop = state.loop { state.ended = loop }
            defer { state.loop = nil }
            return state.loop
        }
        old?.cancel()
        syncs.cancel()
        evaluate()
    }

    func close() {
        state.withLock { $0.isClosed = true }
        evaluate()
        syncs.cancel()
    }

    /// The network has changed: what failed before may work now.
    func tryAgain() {
        let (sleeper, session) = state.withLock { state in
            state.mayTry = true
            state.reasons += 1
            return (state.sleeper, state.session)
        }
        session.failures.forget()
        // Ends the pause that is under way, so that the loop decides anew.
        sleeper?.cancel()
    }

    /// A sync has reached the server: a channel that was given up may work again.
    private func noteAnswer() {
        if case .givenUp = status { tryAgain() }
    }

    /// Something newer was announced by another way than the channel.
    func announce(_ announced: Timestamp?, changed: [CollectionID]? = nil, isGreeting: Bool = false) {
        let (session, service) = state.withLock { ($0.session, $0.service) }
        guard !session.isClosed else { return }
        syncs.announce(announced, changed: changed, isGreeting: isGreeting, session: session) { [weak service] in
            service?.clientCollections ?? []
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

    private enum End {
        /// The connection was open for so long, and ended for a reason that is nobody's fault.
        case lost(openFor: Duration, reason: String)
        case failed(UpdateSourceError)
        case paused(UpdatePause, openFor: Duration)
    }

    private func run(_ session: Session) async {
        let environment = session.config.environment
        guard let (name, source) = session.updateChannel else { return }
        let path = session.storage.updatesPath
        var retries = UpdateRetries.read(path, of: name, limits: session.limits)
        var kept = retries
        // The uptime before which there is no next try.
        var notBefore = Duration.zero
        var shortConnections = 0
        // A start, or whoever listens anew, is a reason for one more try.
        var mayTry = true
        // Whether `notBefore` belongs to such a reason, which a further one does not postpone.
        var hasReason = false
        var reason = "earlier connections failed"
        // What listeners are to be told once the status says the same.
        var lasting: UpdateSourceError?
        // The time between two heartbeats of this server, from earlier connections.
        var beat = Duration.zero
        func keep() {
            guard retries != kept else { return }
            kept = retries
            // Where it cannot be kept, it holds for this process.
            try? session.storage.prepare()
            try? retries.write(to: path, of: name)
        }
        while !Task.isCancelled {
            let (reasons, isAsked, lastTry, disabledUntil) = state.withLock { state in
                defer { state.mayTry = false }
                return (state.reasons, state.mayTry, state.lastTry, state.disabledUntil)
            }
            let now = environment.uptime()
            if isAsked {
                mayTry = true
                let isWaiting = retries.hasGivenUp || retries.wait(at: environment.now()) > .zero
                let isBlocked = retries.failures > 0 && isWaiting
                retries.noteReason()
                let jitter = session.config.updates.longestDelay * min(max(environment.random(), 0), 1)
                let soonest = max((lastTry ?? now) + Self.afterNetworkChange, now + jitter)
                if hasReason || !isBlocked {
                    notBefore = min(notBefore, soonest)
                } else {
                    (notBefore, hasReason) = (soonest, true)
                }
            }
            let mustRest = retries.hasGivenUp && !mayTry
            let wait = max(notBefore - now, retries.wait(at: environment.now()), disabledUntil - now)
            let mayConnect = !mustRest && wait <= .zero
            let pause = mustRest ? UpdateStatus.givenUp(reason: reason) : .waiting(reason: reason)
            setStatus(mayConnect ? .connecting : pause, session)
            if let problem = lasting { tell(.noConnection(problem), session) }
            lasting = nil
            guard mayConnect else {
                await sleep(mustRest ? nil : wait, reasons: reasons, environment)
                continue
            }
            state.withLock { $0.lastTry = now }
            (mayTry, hasReason) = (false, false)
            var asked: Duration?
            let end = await follow(source, session, asked: &asked, beat: &beat) {
                guard retries.failures > 0 else { return }
                retries = UpdateRetries()
                keep()
            }
            if Task.isCancelled { return }
            switch end {
            case .lost(let openFor, let why):
                reason = why
                shortConnections = openFor >= Self.successAfter ? 0 : shortConnections + 1
                if openFor >= Self.successAfter { retries = UpdateRetries() }
                guard shortConnections > Self.mostShortConnections else {
                    let usual = asked ?? Self.reconnectionTime
                    let bounded = min(max(usual, Self.reconnectionTimes.lowerBound), Self.reconnectionTimes.upperBound)
                    // From half to one and a half of it, so that not all apps come back at one moment.
                    notBefore = environment.uptime() + bounded * (0.5 + min(max(environment.random(), 0), 1))
                    break
                }
                retries.noteFailure(at: environment.now(), random: environment.random())
                if retries.hasGivenUp { lasting = UpdateSourceError(.failed, why) }
            case .failed(let error):
                reason = error.description
                let isUnsupported = error.kind == .unsupported
                if case .notBefore(let seconds) = error.kind {
                    // The server says the same to all, who are not to come back at one moment.
                    let jitter = Double(max(3, min(seconds, 86_400) / 10)) * min(max(environment.random(), 0), 1)
                    retries.notePause(seconds: seconds.saturatingAdding(Int(jitter)), at: environment.now())
                } else {
                    retries.noteFailure(
                        at: environment.now(), random: environment.random(), isUnsupported: isUnsupported)
                }
                if isUnsupported || retries.hasGivenUp { lasting = error }
            case .paused(.retryAfter(let seconds), let openFor):
                reason = "the server asked for a pause"
                shortConnections = openFor >= Self.successAfter ? 0 : shortConnections + 1
                if shortConnections > Self.mostShortConnections {
                    retries.noteFailure(at: environment.now(), random: environment.random())
                } else {
                    retries.next = nil
                }
                retries.notePause(seconds: seconds, at: environment.now())
            case .paused(.disabled, _):
                reason = "the server has switched its update channel off"
                let until = environment.uptime() + UpdateRetries.longestPause
                state.withLock { $0.disabledUntil = until }
                lasting = UpdateSourceError(.unsupported, reason)
            }
            session.logger.info("the update channel is closed: \(reason)")
            keep()
        }
    }

    /// Waits, though no longer than until somebody has a reason to try again.
    ///
    /// - Parameter duration: `nil` to wait for such a reason only.
    private func sleep(_ duration: Duration?, reasons: Int, _ environment: HTTPEnvironment) async {
        let sleeper = Task {
            if let duration {
                try? await environment.sleep(duration)
            } else {
                let (stream, continuation) = AsyncStream<Void>.makeStream()
                for await _ in stream {}
                withExtendedLifetime(continuation) {}
            }
        }
        let isCurrent = state.withLock { state in
            state.sleeper = sleeper
            return state.reasons == reasons
        }
        if !isCurrent { sleeper.cancel() }
        await withTaskCancellationHandler {
            await sleeper.value
        } onCancel: {
            sleeper.cancel()
        }
        state.withLock { $0.sleeper = nil }
    }

    private func setStatus(_ status: UpdateStatus, _ session: Session) {
        state.withLock { state in
            if state.session === session, state.loop != nil, !Task.isCancelled { state.status = status }
        }
    }

    /// Tells listeners why they do not hear of what is published, once for each cause.
    private func tell(_ problem: UpdateProblem, _ session: Session) {
        let listeners = state.withLock { state -> [@Sendable (UpdateProblem) -> Void] in
            guard state.problem != problem else { return [] }
            state.problem = problem
            return Array(state.listeners.values)
        }
        session.logger.notice("the update channel \(session.updateChannel?.name ?? ""): \(problem)")
        for tell in listeners { tell(problem) }
    }

    // MARK: One connection

    /// What is known of an open connection, for those that watch over it.
    private final class Pulse: Sendable {
        struct State {
            /// The uptime at which something arrived last, and at which the last two heartbeats did.
            var last: Duration
            var heartbeat: Duration?
            /// The longest time between two heartbeats; zero where it is not known.
            var longestBeat: Duration
            /// Whether that is of this connection, and not of one before.
            var hasMeasured = false
            var opened: Duration?
            /// The time before the next connection that the server asked for.
            var reconnectionTime: Duration?
            var hasUpdate = false
            var hasRefused = false
            var isDead = false
            var rate: MessageRate
        }

        let state: Mutex<State>

        /// - Parameter beat: the time between two heartbeats on earlier connections; zero where it is not known.
        init(at now: Duration, beat: Duration) {
            state = Mutex(State(last: now, longestBeat: beat, rate: MessageRate(at: now)))
        }

        func noteHeartbeat(at now: Duration) {
            state.withLock { state in
                // Several at once tell nothing about the time between them, nor does a greeting about a heartbeat.
                guard now - (state.heartbeat ?? state.opened ?? now) >= .seconds(1) else { return }
                if let before = state.heartbeat {
                    state.longestBeat = max(state.longestBeat, now - before)
                    state.hasMeasured = true
                }
                state.heartbeat = now
            }
        }

        /// What the next connection may expect. A server that was silent for longer than expected has changed its ways.
        var beat: Duration { state.withLock { $0.isDead && !$0.hasMeasured ? .zero : $0.longestBeat } }

        /// - Returns: whether the server may go on.
        func noteMessage(at now: Duration) -> Bool {
            state.withLock { state in
                state.last = now
                return state.rate.note(at: now)
            }
        }
    }

    /// Opens a connection, and passes on what it announces until it ends.
    ///
    /// - Parameters:
    ///   - asked: receives the time before the next connection that the server asked for.
    ///   - beat: the time between two heartbeats of this server, as far as it is known.
    ///   - succeeded: called when the connection has lasted long enough.
    private func follow(
        _ source: any UpdateSource, _ session: Session, asked: inout Duration?, beat: inout Duration,
        succeeded: () -> Void
    ) async -> End {
        let environment = session.config.environment
        let pulse = Pulse(at: environment.uptime(), beat: beat)
        let (successes, success) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let reader = Task { [weak self] in
            defer { success.finish() }
            return await self?.read(source, session, pulse, success)
        }
        let watch = Task { await self.watch(pulse, session) { reader.cancel() } }
        let end = await withTaskCancellationHandler {
            for await _ in successes { succeeded() }
            return await reader.value
        } onCancel: {
            reader.cancel()
        }
        watch.cancel()
        asked = pulse.state.withLock { $0.reconnectionTime }
        beat = pulse.beat
        if pulse.state.withLock({ $0.isDead }) { return lost(pulse, environment, "nothing arrived any more") }
        return end ?? .failed(UpdateSourceError(.failed, "the service is gone"))
    }

    /// A connection ended; one that was never open has failed.
    private func lost(_ pulse: Pulse, _ environment: HTTPEnvironment, _ reason: String) -> End {
        guard let opened = pulse.state.withLock({ $0.opened }) else {
            return .failed(UpdateSourceError(.failed, reason))
        }
        return .lost(openFor: environment.uptime() - opened, reason: reason)
    }

    private func read(
        _ source: any UpdateSource, _ session: Session, _ pulse: Pulse, _ success: AsyncStream<Void>.Continuation
    ) async -> End {
        let environment = session.config.environment
        do throws(UpdateSourceError) {
            var connection = try await source.connect()
            let opened = environment.uptime()
            pulse.state.withLock { ($0.opened, $0.last) = (opened, opened) }
            setStatus(.open, session)
            syncs.forgetRefuted()
            let compare = Task { [weak self] in
                try await environment.sleep(Self.firstEventTime)
                if pulse.state.withLock({ !$0.hasUpdate }) { self?.announce(nil, isGreeting: true) }
            }
            defer { compare.cancel() }
            while let message = try await connection.next() {
                let now = environment.uptime()
                guard pulse.noteMessage(at: now) else {
                    return .failed(
                        UpdateSourceError(
                            .failed, "more than \(MessageRate.mostPerMinute) messages arrived within a minute"))
                }
                if now - opened >= Self.successAfter {
                    state.withLock { $0.problem = nil }
                    success.yield()
                }
                switch message {
                case .heartbeat: pulse.noteHeartbeat(at: now)
                case .reconnectionTime(let time): pulse.state.withLock { $0.reconnectionTime = time }
                case .refused(let error):
                    // A channel that sends nothing but such messages is told of once.
                    let isFirst = pulse.state.withLock { state in
                        defer { state.hasRefused = true }
                        return !state.hasRefused
                    }
                    if isFirst { tell(.unreadable(reason: "\(error)"), session) }
                case .event(.pause(let pause)): return .paused(pause, openFor: now - opened)
                case .event(.update(let timestamp, let changed)):
                    // The first event may be the last of several that were missed, and names the collections of one.
                    let isFirst = pulse.state.withLock { state in
                        defer { state.hasUpdate = true }
                        return !state.hasUpdate
                    }
                    announce(timestamp, changed: isFirst ? nil : changed, isGreeting: isFirst)
                }
            }
            return lost(pulse, environment, "the server ended the connection")
        } catch {
            guard error.kind == .failed else { return .failed(error) }
            return lost(pulse, environment, error.description)
        }
    }

    /// Ends a connection on which nothing arrives any more.
    private func watch(_ pulse: Pulse, _ session: Session, _ end: () -> Void) async {
        let environment = session.config.environment
        let longest = Duration.seconds(session.limits.updateIdleSeconds)
        while true {
            let (last, beat, isOpen, hasBeat) = pulse.state.withLock {
                ($0.last, $0.longestBeat, $0.opened != nil, $0.heartbeat != nil)
            }
            let unknown = hasBeat ? Self.silenceAfterHeartbeat : longest
            let expected = beat > .zero ? max(beat * 3, Self.shortestSilence) : unknown
            let silence = min(expected, longest)
            let left = last + silence - environment.uptime()
            // Before the connection is open, its source watches over the time.
            if left <= .zero, isOpen {
                pulse.state.withLock { $0.isDead = true }
                return end()
            }
            do {
                try await environment.sleep(left > .zero ? min(left, Self.shortestSilence) : Self.shortestSilence)
            } catch {
                return
            }
        }
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
