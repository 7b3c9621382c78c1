import RemoteSettingsModel

/// A memory budget shared by concurrent tasks. A task that needs more than is available waits, in order of arrival.
final class SharedMemory: Sendable {
    private struct Waiting {
        var bytes: Int
        var continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var left: Int
        var waiting: [Waiting] = []
    }

    private let state: Mutex<State>

    init(bytes: Int) { state = Mutex(State(left: bytes)) }

    /// Runs `body` as soon as this many bytes are available.
    ///
    /// - Parameter bytes: the number of bytes, at most the whole budget.
    func lend<Value>(_ bytes: Int, _ body: () async throws -> Value) async rethrows -> Value {
        await withCheckedContinuation { continuation in
            let isLent = state.withLock { state in
                guard state.waiting.isEmpty, state.left >= bytes else {
                    state.waiting.append(Waiting(bytes: bytes, continuation: continuation))
                    return false
                }
                state.left -= bytes
                return true
            }
            if isLent { continuation.resume() }
        }
        defer { giveBack(bytes) }
        return try await body()
    }

    private func giveBack(_ bytes: Int) {
        let admitted = state.withLock { state in
            state.left += bytes
            var admitted: [CheckedContinuation<Void, Never>] = []
            while let next = state.waiting.first, state.left >= next.bytes {
                state.left -= next.bytes
                admitted.append(state.waiting.removeFirst().continuation)
            }
            return admitted
        }
        for continuation in admitted { continuation.resume() }
    }
}
