import RemoteSettingsModel

/// Passes a response from a transport's callbacks to the one task that reads it, through a ``BufferedBody``.
///
/// It buffers the bytes that have arrived and have not been read yet. At `mostBuffered` bytes or more, it pauses the
/// source until the reader has consumed them.
package final class AnswerBuffer: Sendable {
    package struct Head: Sendable {
        package let status: Int
        package let headers: HTTPHeaders
        /// Whether the connection carries several requests at the same time (HTTP/2).
        package let isMultiplexed: Bool

        package init(status: Int, headers: HTTPHeaders, isMultiplexed: Bool = false) {
            self.status = status
            self.headers = headers
            self.isMultiplexed = isMultiplexed
        }
    }

    private struct State {
        var head: Result<Head, Failure>?
        var bytes: [UInt8] = []
        var isPaused = false
        /// The number of pieces that have arrived.
        var pieces = 0
        /// How the body finished; `nil` while it is still arriving. It is set once, but a cancellation replaces it.
        var end: Result<Void, Failure>?
        /// A counter of changes to this state. A reader that is about to wait compares it to notice a change.
        var changes = 0
        /// The suspended reader; `nil` if no reader is waiting.
        var reader: CheckedContinuation<Void, Never>?
    }

    private let mostBuffered: Int
    private let state = Mutex(State())

    /// Creates a buffer.
    ///
    /// - Parameter mostBuffered: the number of unread bytes at which the source is paused.
    package init(mostBuffered: Int) {
        self.mostBuffered = mostBuffered
    }

    // MARK: The reader

    fileprivate func head() async -> Result<Head, Failure> {
        await wait { $0.head }
    }

    /// Waits until bytes have arrived and returns all of them; `nil` at the end of the body.
    ///
    /// - Parameter resume: resumes the source. It is called only if the source is paused.
    fileprivate func next(resume: () -> Void) async -> Result<[UInt8]?, Failure> {
        let (piece, wasPaused) = await wait { state -> (Result<[UInt8]?, Failure>, Bool)? in
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

    /// Cancels the reader's wait immediately, and discards the unread bytes.
    fileprivate func cancel(_ error: Failure) {
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

    // MARK: The source

    package var hasHead: Bool { state.withLock { $0.head != nil } }

    /// The number of pieces that have arrived, and whether the source is paused; `nil` once the body has finished.
    package var arrivals: (pieces: Int, isPaused: Bool)? {
        state.withLock { $0.end == nil ? ($0.pieces, $0.isPaused) : nil }
    }

    package func begin(_ head: Head) {
        change { $0.head = $0.head ?? .success(head) }
    }

    /// Appends bytes.
    ///
    /// - Parameter pause: pauses the source. It is called when the buffer is full, before a reader can resume the
    ///   source. It must not call this buffer.
    package func append(_ bytes: some Collection<UInt8>, pause: () -> Void) {
        change { state in
            guard state.end == nil else { return }
            state.pieces += 1
            state.bytes.append(contentsOf: bytes)
            guard state.bytes.count >= mostBuffered, !state.isPaused else { return }
            state.isPaused = true
            pause()
        }
    }

    /// Marks the body as complete.
    package func finish() {
        change { $0.end = $0.end ?? .success(()) }
    }

    /// Fails the head if it has not arrived, otherwise the body. Bytes that arrived earlier can still be read.
    package func fail(_ error: Failure) {
        change { state in
            if state.head == nil { state.head = .failure(error) }
            state.end = state.end ?? .failure(error)
        }
    }
}

/// The body that reads from an ``AnswerBuffer``. Releasing it stops the transfer.
package final class BufferedBody: HTTPBody {
    private let answer: AnswerBuffer
    private let url: HTTPURL
    private let resume: @Sendable () -> Void
    private let stop: @Sendable () -> Void

    /// Creates a body.
    ///
    /// - Parameters:
    ///   - resume: resumes the source after a pause.
    ///   - stop: cancels the transfer. It may be called more than once.
    package init(
        _ answer: AnswerBuffer, url: HTTPURL, resume: @escaping @Sendable () -> Void,
        stop: @escaping @Sendable () -> Void
    ) {
        self.answer = answer
        self.url = url
        self.resume = resume
        self.stop = stop
    }

    deinit { stop() }

    /// Waits for the head of the response.
    package func head() async throws(Failure) -> AnswerBuffer.Head {
        try await cancelling { [answer] in await answer.head() }
    }

    package func next() async throws(Failure) -> [UInt8]? {
        try await cancelling { [answer, resume] in await answer.next(resume: resume) }
    }

    private func cancelling<Value: Sendable>(
        _ wait: @Sendable () async -> Result<Value, Failure>
    ) async throws(Failure) -> Value {
        let result = await withTaskCancellationHandler {
            await wait()
        } onCancel: { [answer, stop, url] in
            answer.cancel(Failure(url, .cancelled))
            stop()
        }
        return try result.get()
    }
}
