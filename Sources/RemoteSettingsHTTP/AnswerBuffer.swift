import Synchronization

/// An answer on its way from a transport's callbacks to the one task that reads it.
///
/// What has come and is not read yet is held here. From ``mostBuffered`` bytes on, the source is told to pause, and
/// the reader that has taken them lets it go on.
package final class AnswerBuffer: Sendable {
    package struct Head: Sendable {
        package let status: Int
        package let headers: HTTPHeaders

        package init(status: Int, headers: HTTPHeaders) {
            self.status = status
            self.headers = headers
        }
    }

    private struct State {
        var head: Result<Head, HTTPError>?
        var bytes: [UInt8] = []
        var isPaused = false
        /// The end of the body; set once, except that a cancelled one stays cancelled.
        var end: Result<Void, HTTPError>?
        /// Counts what happened, so that a reader about to wait sees that something did.
        var changes = 0
        /// The one reader, waiting for something to change.
        var reader: CheckedContinuation<Void, Never>?
    }

    private let mostBuffered: Int
    private let state = Mutex(State())

    /// - Parameter mostBuffered: in bytes.
    package init(mostBuffered: Int) {
        self.mostBuffered = mostBuffered
    }

    // MARK: The reader's side

    package func head() async -> Result<Head, HTTPError> {
        await wait { $0.head }
    }

    /// All bytes that are there, once there are some; `nil` at the body's end.
    ///
    /// - Parameter resume: is called where the source had been told to pause.
    package func next(resume: () -> Void) async -> Result<[UInt8]?, HTTPError> {
        let (piece, wasPaused) = await wait { state -> (Result<[UInt8]?, HTTPError>, Bool)? in
            if !state.bytes.isEmpty {
                defer {
                    state.bytes = []
                    state.isPaused = false
                }
                return (.success(state.bytes), state.isPaused)
            }
            guard let end = state.end else { return nil }
            return (end.map { nil }, false)
        }
        if wasPaused { resume() }
        return piece
    }

    /// Ends the reader's waiting at once; what it has not read yet is dropped.
    package func cancel(_ error: HTTPError) {
        change { state in
            if state.head == nil { state.head = .failure(error) }
            state.bytes = []
            state.end = .failure(error)
        }
    }

    private func wait<Value: Sendable>(for value: (inout State) -> Value?) async -> Value {
        while true {
            let (found, seen) = state.withLock { (value(&$0), $0.changes) }
            if let found { return found }
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                let hasNews = state.withLock { state in
                    guard state.changes == seen else { return true }
                    state.reader = continuation
                    return false
                }
                if hasNews { continuation.resume() }
            }
        }
    }

    private func change(_ change: (inout State) -> Void) {
        let reader = state.withLock { state in
            change(&state)
            state.changes += 1
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume()
    }

    // MARK: The source's side

    package var hasHead: Bool { state.withLock { $0.head != nil } }

    package func begin(_ head: Head) {
        change { $0.head = $0.head ?? .success(head) }
    }

    /// - Parameter pause: tells the source to send no more, before any reader can let it go on; called where enough
    ///   is held. It must not call this buffer.
    package func append(_ bytes: some Collection<UInt8>, pause: () -> Void) {
        change { state in
            guard state.end == nil else { return }
            state.bytes.append(contentsOf: bytes)
            guard state.bytes.count >= mostBuffered, !state.isPaused else { return }
            state.isPaused = true
            pause()
        }
    }

    /// The body is whole.
    package func finish() {
        change { $0.end = $0.end ?? .success(()) }
    }

    /// Before the head it is the head that fails. What came before the failure can still be read.
    package func fail(_ error: HTTPError) {
        change { state in
            if state.head == nil { state.head = .failure(error) }
            state.end = state.end ?? .failure(error)
        }
    }
}
