import RemoteSettingsModel
import Synchronization

/// Syncs that announcements start: after a random moment, merged, and no more often than they are worth.
///
/// An announcement that turns out to be false, or to be about nothing that this app has, is followed by a minute without
/// syncs of this kind. One that the server does not confirm is tried three times, as a cache on the way may be late.
final class UpdateSyncs: Sendable {
    private static let pauseAfterNothing = Duration.seconds(60)
    private static let mostTries = 3

    private struct State {
        /// What is to be synced: the highest timestamp that was announced, where one was.
        var pending: Pending?
        /// The uptime before which no sync begins.
        var earliest: Duration?
        /// What the server did not confirm.
        var refuted: Timestamp?
        var worker: Task<Void, Never>?
    }

    private struct Pending {
        var announced: Timestamp?
        var tries = 0
        /// Whether it tells the present state at the beginning of a connection. That nothing is new then is no lie.
        var isGreeting = false
    }

    private let state = Mutex(State())
    private let givenUp = Mutex<(@Sendable (_ reason: String, Session) -> Void)?>(nil)

    /// - Parameter body: called where what was announced is not tried any more, with the reason.
    func onGivenUp(_ body: @escaping @Sendable (_ reason: String, Session) -> Void) { givenUp.withLock { $0 = body } }

    /// Notes that something newer exists. Does nothing where all of it is held.
    ///
    /// - Parameters:
    ///   - announced: the monitor's timestamp; `nil` where it is not known.
    ///   - changed: the collections that have changed; `nil` where any may have.
    ///   - isGreeting: whether it tells the present state at the beginning of a connection.
    ///   - collections: the collections of the service's clients.
    func announce(
        _ announced: Timestamp?, changed: [CollectionID]? = nil, isGreeting: Bool = false, session: Session,
        collections: @escaping @Sendable () -> [LocalCollection]
    ) {
        let present = Set(collections().map(\.id))
        guard !present.isEmpty, changed.map({ $0.contains(where: present.contains) }) ?? true else { return }
        if let announced, session.hasSynced(present, upTo: announced) { return }
        state.withLock { state in
            if let announced, announced == state.refuted { return }
            var pending = state.pending ?? Pending()
            if let announced, pending.announced.map({ $0 < announced }) ?? true {
                pending = Pending(announced: announced, isGreeting: pending.isGreeting)
            }
            pending.isGreeting = pending.isGreeting || isGreeting
            state.pending = pending
            guard state.worker == nil else { return }
            state.worker = Task { await self.work(session, collections) }
        }
    }

    /// What the server did not confirm is tried again where it is announced again.
    func forgetRefuted() { state.withLock { $0.refuted = nil } }

    /// Forgets what was announced. A sync that is under way goes on.
    func cancel() {
        let worker = state.withLock { state in
            defer { state = State(earliest: state.earliest) }
            return state.worker
        }
        worker?.cancel()
    }

    private func work(_ session: Session, _ collections: @Sendable () -> [LocalCollection]) async {
        let environment = session.config.environment
        while true {
            let delay = session.config.updates.longestDelay * min(max(environment.random(), 0), 1)
            let now = environment.uptime()
            let pause = max(delay, state.withLock { $0.earliest.map { $0 - now } } ?? .zero)
            do {
                if pause > .zero { try await environment.sleep(pause) }
                try Task.checkCancellation()
            } catch {
                // Whoever cancels has put another state in the place of this one.
                return
            }
            let taken = state.withLock { state in
                defer { state.pending = nil }
                return state.pending
            }
            if let taken { await sync(taken, session, collections()) }
            let goesOn = state.withLock { state in
                if Task.isCancelled { return false }
                if state.pending == nil { state.worker = nil }
                return state.pending != nil
            }
            guard goesOn else { return }
        }
    }

    private func sync(_ pending: Pending, _ session: Session, _ collections: [LocalCollection]) async {
        let present = Set(collections.map(\.id))
        guard !present.isEmpty else { return }
        if let announced = pending.announced, session.hasSynced(present, upTo: announced) { return }
        let result = await session.sync(collections, expected: pending.announced, trigger: .broadcast)
        let now = session.config.environment.uptime()
        func retry(because reason: String) {
            guard !self.retry(pending, from: now + Self.pauseAfterNothing) else { return }
            let body = givenUp.withLock { $0 }
            body?(reason, session)
        }
        switch result {
        case .failure(.Backoff(let seconds)):
            self.retry(pending, from: now + .seconds(Int64(clamping: min(seconds, 86_400))), countsAsTry: false)
        case .failure(let error): retry(because: "\(error)")
        case .success(let results):
            for case .failure(let error) in results.map(\.result) { return retry(because: "\(error)") }
            guard let announced = pending.announced, !session.hasSynced(present, upTo: announced) else {
                let wasWorthIt = pending.isGreeting || results.contains(where: \.isChanged)
                return state.withLock { $0.earliest = wasWorthIt ? nil : now + Self.pauseAfterNothing }
            }
            retry(because: "the timestamp \(announced) was announced, and the server has none that is so new")
        }
    }

    /// - Returns: whether there is another try.
    @discardableResult
    private func retry(_ pending: Pending, from earliest: Duration, countsAsTry: Bool = true) -> Bool {
        state.withLock { state in
            state.earliest = earliest
            var pending = pending
            if countsAsTry { pending.tries += 1 }
            guard pending.tries < Self.mostTries else {
                state.refuted = pending.announced
                return false
            }
            // What was announced meanwhile, and is higher, takes its place.
            let isReplaced =
                if let newer = state.pending?.announced { pending.announced.map { $0 < newer } ?? true } else { false }
            if !isReplaced { state.pending = pending }
            return true
        }
    }
}
