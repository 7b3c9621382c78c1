import RemoteSettingsModel
import Synchronization

/// Work that callers who come while it is under way share.
///
/// It goes on where a caller is cancelled, as others may wait for it too; ``close()`` cancels it.
final class SharedTask<Value: Sendable>: Sendable {
    typealias Work = Task<Result<Value, RemoteSettingsError>, Never>

    private struct State {
        var running: (number: Int, expected: Timestamp?, task: Work)?
        var started = 0
        var isClosed = false
    }

    private let state = Mutex(State())

    /// - Parameter expected: what a push message promised. Work under way that expects less is not shared: it is waited
    ///   for, then done again.
    func run(
        expected: Timestamp?, _ body: @escaping @Sendable () async -> Result<Value, RemoteSettingsError>
    ) async -> Result<Value, RemoteSettingsError> {
        while true {
            let (task, isShared) = state.withLock { state -> (Work?, Bool) in
                if let running = state.running {
                    let isEnough = expected.map { wanted in running.expected.map { $0 >= wanted } ?? false } ?? true
                    return (running.task, isEnough)
                }
                guard !state.isClosed else { return (nil, false) }
                state.started += 1
                let number = state.started
                let task = Work {
                    let result = await body()
                    self.finish(number)
                    return result
                }
                state.running = (number, expected, task)
                return (task, true)
            }
            guard let task else { return .failure(.closed) }
            let result = await task.value
            if isShared { return result }
        }
    }

    private func finish(_ number: Int) {
        state.withLock { state in
            if state.running?.number == number { state.running = nil }
        }
    }

    /// Cancels what is under way, and refuses what comes.
    func close() {
        let task = state.withLock { state in
            state.isClosed = true
            return state.running?.task
        }
        task?.cancel()
    }
}

extension RemoteSettingsError {
    static let closed = RemoteSettingsError.Other(
        reason: "the service was shut down or given another configuration meanwhile; what is held stays")
}
