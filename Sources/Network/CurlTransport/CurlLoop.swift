import CCurl
import CPlatform
import RemoteSettingsHTTP
import RemoteSettingsModel

/// Runs libcurl on a dedicated thread, and passes commands from other threads to it.
@safe
final class CurlLoop: Sendable {
    /// Commands that wait for the thread. It executes them in the order of these properties.
    private struct Orders {
        var started: [(id: UInt64, request: HTTPRequest, answer: AnswerBuffer)] = []
        var resumed: [UInt64] = []
        var dropped: [UInt64] = []

        var isEmpty: Bool { started.isEmpty && resumed.isEmpty && dropped.isEmpty }
    }

    @safe
    private struct State {
        var orders = Orders()
        var count: UInt64 = 0
        var isClosed = false
        /// libcurl's multi handle; `nil` while the thread is not running.
        var multi: UnsafeMutableRawPointer?

        /// Wakes the thread so that it reads its commands.
        func wake() {
            if let multi = unsafe multi { unsafe rs_curl_multi_wakeup(multi) }
        }
    }

    /// The argument of the thread's function. It keeps the loop alive until the thread exits.
    @safe
    private final class Thread {
        let loop: CurlLoop
        let multi: UnsafeMutableRawPointer

        init(loop: CurlLoop, multi: UnsafeMutableRawPointer) {
            self.loop = loop
            unsafe self.multi = unsafe multi
        }
    }

    /// The first wait after an event. libcurl 7.88 sometimes does not report that it has more to do, so the loop calls
    /// it again soon after each event, and then at growing intervals.
    private static let shortestWait = Duration.milliseconds(10)
    private static let longestWait = Duration.seconds(60)

    private let connectionsPerHost: Int
    private let authorities: CertificateAuthorities
    private let state = Mutex(State())

    init(connectionsPerHost: Int, authorities: CertificateAuthorities) {
        self.connectionsPerHost = connectionsPerHost
        self.authorities = authorities
    }

    // MARK: From any thread

    /// Starts a transfer.
    ///
    /// - Returns: the transfer's number, for ``drop(_:)``.
    func start(_ request: HTTPRequest, _ answer: AnswerBuffer) throws(Failure) -> UInt64 {
        if let problem = unsafe rs_curl_load() {
            throw Failure(request.url, .unreachable(unsafe String(cString: problem)))
        }
        let id = state.withLock { state -> UInt64? in
            if unsafe state.multi == nil {
                guard let multi = unsafe makeMulti() else { return nil }
                unsafe state.multi = multi
            }
            state.count += 1
            state.orders.started.append((state.count, request, answer))
            state.wake()
            return state.count
        }
        guard let id else { throw Failure(request.url, .unreachable("libcurl's thread could not be started")) }
        return id
    }

    /// Continues a transfer after its reader has emptied the buffer.
    func resume(_ id: UInt64) {
        state.withLock {
            $0.orders.resumed.append(id)
            $0.wake()
        }
    }

    /// Stops a transfer. Does nothing if it has already finished.
    func drop(_ id: UInt64) {
        state.withLock { state in
            guard unsafe state.multi != nil else { return }
            state.orders.dropped.append(id)
            state.wake()
        }
    }

    /// Makes the thread exit when its transfers have finished.
    func close() {
        state.withLock {
            $0.isClosed = true
            $0.wake()
        }
    }

    /// Starts the thread.
    private func makeMulti() -> UnsafeMutableRawPointer? {
        guard let multi = unsafe rs_curl_multi_init() else { return nil }
        unsafe rs_curl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, connectionsPerHost)
        // The number of connections that are kept open for later requests.
        unsafe rs_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, 2 * connectionsPerHost)
        let context = unsafe Unmanaged.passRetained(Thread(loop: self, multi: multi))
        let status = unsafe rs_start_thread(
            { context in
                if let context = unsafe context {
                    let thread = unsafe Unmanaged<Thread>.fromOpaque(context).takeRetainedValue()
                    unsafe thread.loop.run(thread.multi)
                }
                return nil
            }, context.toOpaque())
        guard status == 0 else {
            unsafe context.release()
            unsafe rs_curl_multi_cleanup(multi)
            return nil
        }
        return unsafe multi
    }

    // MARK: On the thread

    private func run(_ multi: UnsafeMutableRawPointer) {
        var transfers: [UInt64: CurlTransfer] = [:]
        var patience = Self.shortestWait
        while true {
            unsafe obey(&transfers, multi)
            var running: Int32 = 0
            unsafe rs_curl_multi_perform(multi, &running)
            unsafe endFinished(&transfers, multi)
            let now = ContinuousClock.now
            for (id, transfer) in transfers where transfer.isLate(at: now) { end(id, of: &transfers) }
            if transfers.isEmpty, isDone() { break }
            let left = transfers.values.compactMap(\.deadline).min().map { $0 - now } ?? patience
            // libcurl shortens the wait to its own time-outs.
            unsafe rs_curl_multi_poll(multi, Int32((max(.zero, min(left, patience)) / .milliseconds(1)).rounded(.up)))
            // If nothing has happened, wait longer the next time.
            patience = ContinuousClock.now - now < patience ? Self.shortestWait : min(patience * 2, Self.longestWait)
        }
        unsafe rs_curl_multi_cleanup(multi)
    }

    private func obey(_ transfers: inout [UInt64: CurlTransfer], _ multi: UnsafeMutableRawPointer) {
        let orders = state.withLock { state in
            defer { state.orders = Orders() }
            return state.orders
        }
        for (id, request, answer) in orders.started {
            transfers[id] = unsafe CurlTransfer(request, answer, authorities, multi: multi)
        }
        for id in orders.resumed { transfers[id]?.resume() }
        for id in orders.dropped { end(id, of: &transfers) }
    }

    private func endFinished(_ transfers: inout [UInt64: CurlTransfer], _ multi: UnsafeMutableRawPointer) {
        var result = CURLE_OK
        while let handle = unsafe rs_curl_multi_next_done(multi, &result) {
            guard let (id, transfer) = transfers.first(where: { unsafe $0.value.handle == handle }) else { continue }
            if transfer.isOver(after: result) { end(id, of: &transfers) }
        }
    }

    /// Removes a transfer, and makes libcurl read its connection again for the other transfers.
    ///
    /// When the buffer of one transfer is full, an HTTP/2 connection of libcurl 7.88 keeps the bytes that it has
    /// already read for the other transfers. When the transfer with the full buffer is removed, libcurl does not resume
    /// the others. They would wait until the server sends more, which it never does after a GOAWAY.
    private func end(_ id: UInt64, of transfers: inout [UInt64: CurlTransfer]) {
        guard let port = transfers.removeValue(forKey: id)?.localPort, port > 0 else { return }
        transfers.values.first { $0.isReading && $0.localPort == port }?.readAgain()
    }

    /// Returns whether the thread can exit. If so, the loop accepts no further commands.
    private func isDone() -> Bool {
        state.withLock { state in
            guard state.isClosed, state.orders.isEmpty else { return false }
            unsafe state.multi = nil
            return true
        }
    }
}
