import RemoteSettingsHTTP
import RemoteSettingsModel

/// A token that identifies a client as the owner of its streams and of the syncs that it has requested.
///
/// The client's address cannot identify it, because a later client may get the same address.
package final class WorkOwner: Sendable {
    private let shutDown = Mutex(false)

    /// Whether the owner is shut down. It is set before `SharedWork.leave` and `Broadcast.finish` are called.
    package var isShutDown: Bool { shutDown.withLock { $0 } }

    package init() {}

    func shutdown() { shutDown.withLock { $0 = true } }
}

/// Syncs or downloads that are each shared by all callers who request the same work while it is running.
///
/// The work runs on this package's own threads, because the callers that wait for it may block the threads of Swift's
/// concurrency pool.
///
/// A cancelled caller stops waiting at once. Each caller decides whether the work continues after its own cancellation.
package final class SharedWork<Key: Hashable & Sendable, Value: Sendable, Progress: Sendable>: Sendable {
    package typealias Outcome = Result<Value, RemoteSettingsError>
    package typealias Report = @Sendable (Progress) -> Void

    private enum Event {
        case progress(Progress)
        case end(Outcome)
        /// The caller's owner was shut down.
        case left
    }

    private struct Caller {
        let owner: WorkOwner?
        let events: AsyncStream<Event>.Continuation
    }

    private struct Work {
        let number: Int
        let expected: Timestamp?
        let task: Task<Void, Never>
        var callers: [Int: Caller] = [:]
        /// The owners of callers whose work continues after their cancellation; `nil` for the service itself.
        var keepers: [WorkOwner?] = []
    }

    private struct State {
        var works: [Key: Work] = [:]
        var count = 0
        var isClosed = false

        /// Removes work that nothing waits for.
        ///
        /// - Returns: the task to cancel; `nil` if the work is still needed. The next caller starts new work, even if
        ///   the cancelled task never finishes.
        mutating func removeIfAbandoned(_ key: Key) -> Task<Void, Never>? {
            guard let work = works[key], work.callers.isEmpty, work.keepers.isEmpty else { return nil }
            return works.removeValue(forKey: key)?.task
        }
    }

    private let state = Mutex(State())

    package init() {}

    /// Starts `body`, or waits for the same work if it is already running.
    ///
    /// - Parameters:
    ///   - expected: the timestamp that a push message announced. If the running work was started for a lower
    ///     timestamp, or for none, `body` runs after it has finished.
    ///   - owner: the client that requests the work. The call fails if this client is shut down, before or during it.
    ///   - outlivesCaller: whether the work continues if the caller is cancelled. Work that no such caller requested is
    ///     cancelled when no caller waits for it any more.
    ///   - progress: a closure that is called in the caller's task. If it is slower than the work, it receives only the
    ///     latest value.
    package func run(
        _ key: Key, expected: Timestamp? = nil, owner: WorkOwner? = nil, outlivesCaller: Bool = true,
        progress: Report? = nil, _ body: @escaping @Sendable (@escaping Report) async -> Outcome
    ) async -> Outcome {
        while true {
            guard let (events, isEnough) = join(key, expected: expected, owner: owner, outlivesCaller, body) else {
                return .failure(.closed)
            }
            var outcome: Outcome?
            for await event in events {
                switch event {
                case .progress(let value): progress?(value)
                case .end(let result): outcome = result
                // Return even if the running work was not sufficient: an owner that is shut down starts no more work.
                case .left: return .failure(.closed)
                }
            }
            guard let outcome else { return .failure(RemoteSettingsError(CancellationError())) }
            if isEnough { return outcome }
        }
    }

    /// Adds a caller to the work, and starts it if necessary.
    ///
    /// - Returns: the events from now on, and whether the running work covers the `expected` timestamp; `nil` after
    ///   ``close()``, or if the owner was shut down.
    private func join(
        _ key: Key, expected: Timestamp?, owner: WorkOwner?, _ outlivesCaller: Bool,
        _ body: @escaping @Sendable (@escaping Report) async -> Outcome
    ) -> (events: AsyncStream<Event>, isEnough: Bool)? {
        // The final result is the newest event, so the buffering policy never drops it.
        let (events, continuation) = AsyncStream<Event>.makeStream(bufferingPolicy: .bufferingNewest(2))
        let joined = state.withLock { state -> (caller: Int, isEnough: Bool)? in
            // This check is under the lock that `leave` acquires, so a later `leave` is certain to find the caller.
            guard owner?.isShutDown != true else { return nil }
            state.count += 1
            let caller = state.count
            if state.works[key] == nil {
                guard !state.isClosed else { return nil }
                let task = WorkThreads.start {
                    let outcome = await body { self.send(.progress($0), of: key, caller) }
                    self.end(key, caller, outcome)
                }
                state.works[key] = Work(number: caller, expected: expected, task: task)
            }
            state.works[key]?.callers[caller] = Caller(owner: owner, events: continuation)
            if outlivesCaller, state.works[key]?.keepers.contains(where: { $0 === owner }) == false {
                state.works[key]?.keepers.append(owner)
            }
            guard let expected else { return (caller, true) }
            return (caller, state.works[key]?.expected.map { $0 >= expected } ?? false)
        }
        guard let joined else { return nil }
        continuation.onTermination = { [weak self] _ in self?.leave(key, joined.caller) }
        return (events, joined.isEnough)
    }

    private func send(_ event: Event, of key: Key, _ number: Int) {
        let callers = state.withLock { state in
            state.works[key].map { $0.number == number ? Array($0.callers.values) : [] } ?? []
        }
        for caller in callers { caller.events.yield(event) }
    }

    private func end(_ key: Key, _ number: Int, _ outcome: Outcome) {
        let callers = state.withLock { state -> [Caller] in
            guard let work = state.works[key], work.number == number else { return [] }
            state.works[key] = nil
            return Array(work.callers.values)
        }
        finish(callers, with: .end(outcome))
    }

    private func leave(_ key: Key, _ caller: Int) {
        let task = state.withLock { state -> Task<Void, Never>? in
            guard state.works[key]?.callers.removeValue(forKey: caller) != nil else { return nil }
            return state.removeIfAbandoned(key)
        }
        task?.cancel()
    }

    /// Returns whether work is running under this key that a new caller would wait for.
    func isUnderWay(_ key: Key) -> Bool { state.withLock { $0.works[key] != nil } }

    /// Makes all waiting callers of an owner fail, as ``close()`` does. Other callers keep waiting.
    func leave(_ owner: WorkOwner) {
        let (left, tasks) = state.withLock { state -> ([Caller], [Task<Void, Never>]) in
            var left: [Caller] = []
            var tasks: [Task<Void, Never>] = []
            for (key, work) in state.works {
                let leaving = work.callers.filter { $0.value.owner === owner }
                left += leaving.values
                for caller in leaving.keys { state.works[key]?.callers[caller] = nil }
                state.works[key]?.keepers.removeAll { $0 === owner }
                if let task = state.removeIfAbandoned(key) { tasks.append(task) }
            }
            return (left, tasks)
        }
        for task in tasks { task.cancel() }
        finish(left, with: .left)
    }

    private func finish(_ callers: [Caller], with event: Event) {
        for caller in callers {
            caller.events.yield(event)
            caller.events.finish()
        }
    }

    /// Cancels all running work and refuses new work. Callers get ``RemoteSettingsError/closed`` at once.
    package func close() {
        let works = state.withLock { state in
            state.isClosed = true
            defer { state.works = [:] }
            return state.works.values
        }
        for work in works {
            work.task.cancel()
            finish(Array(work.callers.values), with: .left)
        }
    }
}
