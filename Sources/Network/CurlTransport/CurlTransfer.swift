import CCurl
import RemoteSettingsHTTP
import RemoteSettingsModel

/// One running libcurl request. It is created, used and released on the loop's thread. Releasing it cancels the
/// request.
@safe
final class CurlTransfer {
    /// The number of unread bytes at which reading from the connection pauses. libcurl buffers some bytes in addition.
    static let mostBuffered = 1 << 20
    private static let wireBuffer = 64 << 10

    /// libcurl's easy handle; `nil` if libcurl could not allocate it, in which case the response has already failed.
    let handle: UnsafeMutableRawPointer?
    /// The time at which the transfer fails unless more of the response arrives; `nil` while the transfer is paused.
    private(set) var deadline: ContinuousClock.Instant?

    private let multi: UnsafeMutableRawPointer
    private let request: HTTPRequest
    private let answer: AnswerBuffer
    private var head = HeadLines()
    private var received = 0
    private var isPaused = false
    private var isRepetition = false
    private var fields: UnsafeMutablePointer<curl_slist>?
    // The buffer for libcurl's error message, which libcurl may write to while the handle exists.
    private let message: UnsafeMutablePointer<CChar>

    init(
        _ request: HTTPRequest, _ answer: AnswerBuffer, _ authorities: CertificateAuthorities,
        multi: UnsafeMutableRawPointer
    ) {
        self.request = request
        self.answer = answer
        unsafe self.multi = unsafe multi
        unsafe message = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe message.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        unsafe handle = rs_curl_easy_init()
        deadline = .now + request.headTimeout
        guard let handle = unsafe handle else {
            answer.fail(Failure(request.url, .unreachable("there is not enough memory for libcurl")))
            return
        }
        unsafe setOptions(handle, authorities)
        unsafe rs_curl_multi_add_handle(multi, handle)
    }

    deinit {
        if let handle = unsafe handle {
            unsafe rs_curl_multi_remove_handle(multi, handle)
            unsafe rs_curl_easy_cleanup(handle)
        }
        unsafe rs_curl_slist_free_all(fields)
        unsafe message.deallocate()
    }

    private func setOptions(_ handle: UnsafeMutableRawPointer, _ authorities: CertificateAuthorities) {
        func set(_ option: CURLoption, _ value: Int) { unsafe rs_curl_set_long(handle, option, value) }
        func set(_ option: CURLoption, _ value: String) { unsafe rs_curl_set_string(handle, option, value) }
        unsafe rs_curl_set_pointer(handle, CURLOPT_ERRORBUFFER, message)
        set(CURLOPT_NOSIGNAL, 1)
        unsafe rs_curl_set_quick_exit(handle)
        unsafe rs_curl_set_http_only(handle)
        let isSecure = request.url.scheme == .https
        set(CURLOPT_HTTP_VERSION, Int(isSecure ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1))
        // A request waits for the first connection to open, which shows whether the connection can be shared (HTTP/2).
        set(CURLOPT_PIPEWAIT, isSecure ? 1 : 0)
        set(CURLOPT_HTTP09_ALLOWED, 0)
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
        set(CURLOPT_SSL_VERIFYPEER, 1)
        set(CURLOPT_SSL_VERIFYHOST, 2)
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        set(CURLOPT_BUFFERSIZE, Self.wireBuffer)
        set(CURLOPT_CONNECTTIMEOUT_MS, Int(clamping: Int64(request.headTimeout / .milliseconds(1))))
        // An `https` proxy has a certificate too.
        if let file = authorities.file {
            set(CURLOPT_CAINFO, file)
            set(CURLOPT_PROXY_CAINFO, file)
        }
        if let directory = authorities.directory {
            set(CURLOPT_CAPATH, directory)
            set(CURLOPT_PROXY_CAPATH, directory)
        }
        set(CURLOPT_PATH_AS_IS, 1)
        set(CURLOPT_URL, request.url.description)
        if request.method != .get { set(CURLOPT_CUSTOMREQUEST, request.method.rawValue) }
        if let body = request.body {
            set(CURLOPT_POSTFIELDSIZE, body.count)
            unsafe body.withUnsafeBytes {
                _ = unsafe rs_curl_set_pointer(
                    handle, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: $0.baseAddress))
            }
        }
        // Suppresses libcurl's own fields, so that only the request's headers are sent.
        var lines = ["Accept:"] + (request.body == nil ? [] : ["Expect:", "Content-Type:"])
        for field in request.headers.fields {
            lines.append(field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)")
        }
        for line in lines {
            if let longer = unsafe rs_curl_slist_append(fields, line) { unsafe fields = unsafe longer }
        }
        unsafe rs_curl_set_pointer(handle, CURLOPT_HTTPHEADER, fields)
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe rs_curl_set_pointer(handle, CURLOPT_HEADERDATA, context)
        unsafe rs_curl_set_callback(handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
            guard let context = unsafe context else { return 0 }
            let line = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
            let transfer = unsafe Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
            return unsafe transfer.receivedHeaderLine(line) ? size * count : 0
        }
        unsafe rs_curl_set_pointer(handle, CURLOPT_WRITEDATA, context)
        unsafe rs_curl_set_callback(handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            guard let context = unsafe context else { return 0 }
            let piece = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
            unsafe Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue().received(piece)
            return size * count
        }
        let watch: rs_curl_watch = { context, _, _, _, _ in
            guard let context = unsafe context else { return 1 }
            return unsafe Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue().mayContinue() ? 0 : 1
        }
        unsafe rs_curl_set_watch(handle, watch, context)
    }

    // MARK: Receiving

    private func receivedHeaderLine(_ line: UnsafeRawBufferPointer) -> Bool {
        // Header lines after a body are trailers. libcurl keeps them in memory.
        guard !answer.hasHead else { return head.count(line.count) }
        guard let isComplete = unsafe head.add(line) else { return false }
        if isComplete {
            answer.begin(.init(status: head.status, headers: head.headers, isMultiplexed: head.isMultiplexed))
            deadline = .now + request.idleTimeout
        }
        return true
    }

    /// Returns whether libcurl may continue.
    ///
    /// As long as a proxy sends the body of a refusal, which libcurl discards, this is called instead of anything else:
    /// libcurl does not return to the loop. It also discards the headers of a proxy, but keeps them in memory.
    private func mayContinue() -> Bool {
        var headerBytes = 0
        if let handle = unsafe handle { unsafe rs_curl_get_long(handle, CURLINFO_HEADER_SIZE, &headerBytes) }
        return isInTime(.now) && head.allows(headerBytes)
    }

    private func received(_ bytes: UnsafeRawBufferPointer) {
        received += bytes.count
        deadline = .now + request.idleTimeout
        unsafe answer.append(bytes) {
            unsafe rs_curl_easy_pause(handle, CURLPAUSE_RECV)
            isPaused = true
        }
        if isPaused { deadline = nil }
    }

    /// Continues the transfer after the reader has emptied the buffer.
    func resume() {
        guard isPaused else { return }
        isPaused = false
        deadline = .now + request.idleTimeout
        // This may call `received` before it returns.
        unsafe rs_curl_easy_pause(handle, CURLPAUSE_CONT)
    }

    /// The local port of the connection; 0 if there is none yet.
    var localPort: Int {
        var port = 0
        if let handle = unsafe handle { unsafe rs_curl_get_long(handle, CURLINFO_LOCAL_PORT, &port) }
        return port
    }

    var isReading: Bool { !isPaused }

    /// Makes libcurl read from the connection, even if the system reports that there is nothing to read.
    func readAgain() {
        unsafe rs_curl_easy_pause(handle, CURLPAUSE_RECV)
        unsafe rs_curl_easy_pause(handle, CURLPAUSE_CONT)
    }

    // MARK: Finishing

    /// Passes the result to the reader, or repeats an unprocessed request. Returns whether the transfer is over.
    func isOver(after result: CURLcode) -> Bool {
        if result == CURLE_OK, answer.hasHead {
            answer.finish()
        } else if isUnprocessed(result) {
            isRepetition = true
            unsafe repeatRequest(handle)
            return false
        } else {
            answer.fail(Failure(request.url, reason(of: result)))
        }
        return true
    }

    /// Returns whether a reused connection broke before any byte of this request's response arrived.
    ///
    /// libcurl repeats requests that the server refused with a GOAWAY, but it reports some of them as failed instead.
    private func isUnprocessed(_ result: CURLcode) -> Bool {
        guard !isRepetition, head.bytes == 0, request.method == .get else { return false }
        switch result {
        case CURLE_HTTP2, CURLE_SEND_ERROR: return true
        case CURLE_OK, CURLE_PARTIAL_FILE, CURLE_RECV_ERROR:
            var connections = 0
            unsafe rs_curl_get_long(handle, CURLINFO_NUM_CONNECTS, &connections)
            return connections == 0
        default: return false
        }
    }

    private func repeatRequest(_ handle: UnsafeMutableRawPointer?) {
        guard let handle = unsafe handle else { return }
        unsafe rs_curl_multi_remove_handle(multi, handle)
        unsafe message[0] = 0
        unsafe rs_curl_set_long(handle, CURLOPT_FRESH_CONNECT, 1)
        unsafe rs_curl_multi_add_handle(multi, handle)
    }

    /// Returns whether the request has timed out or could not be started.
    func isLate(at now: ContinuousClock.Instant) -> Bool {
        guard unsafe handle != nil else { return true }
        guard !isInTime(now) else { return false }
        answer.fail(Failure(request.url, timeout))
        return true
    }

    private func isInTime(_ now: ContinuousClock.Instant) -> Bool { deadline.map { now < $0 } ?? true }

    private var timeout: Failure {
        let time = answer.hasHead ? request.idleTimeout : request.headTimeout
        var asked = 0.0
        if let handle = unsafe handle { unsafe rs_curl_get_double(handle, CURLINFO_PRETRANSFER_TIME, &asked) }
        let phase: Failure.TimeoutPhase = answer.hasHead ? .body : asked > 0 ? .head : .connect
        return .timeout(phase, seconds: Int(clamping: time.components.seconds))
    }

    private func reason(of result: CURLcode) -> Failure {
        if let problem = head.problem { return .notHTTP(problem) }
        // See `mayContinue()`.
        if result == CURLE_ABORTED_BY_CALLBACK { return timeout }
        var number = 0
        unsafe rs_curl_get_long(handle, CURLINFO_OS_ERRNO, &number)
        let written = unsafe String(cString: message)
        return CurlFailure(
            result: result, text: written.isEmpty ? unsafe String(cString: rs_curl_easy_strerror(result)) : written,
            systemError: Int32(clamping: number), inBody: answer.hasHead, announced: head.contentLength,
            received: received, headSeconds: Int(clamping: request.headTimeout.components.seconds)
        ).reason
    }
}

/// Collects the header lines of a response, which libcurl passes one by one.
struct HeadLines {
    /// The largest size of the head in bytes, including the heads of interim responses (1xx), and the trailers. The
    /// heads of a proxy's own responses count separately.
    static let mostBytes = 256 << 10

    private(set) var status = 0
    private(set) var headers = HTTPHeaders()
    private(set) var isMultiplexed = false
    private(set) var bytes = 0
    /// The reason why the head was refused; `nil` if it was not.
    private(set) var problem: String?

    var contentLength: Int? { headers["Content-Length"].flatMap { Int($0) } }

    /// Adds a line.
    ///
    /// - Returns: whether the head is complete; `nil` if it is refused.
    mutating func add(_ line: some Collection<UInt8>) -> Bool? {
        guard count(line.count) else { return nil }
        let text = String(decoding: line.prefix { $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        if text.hasPrefix("HTTP/"), let code = text.split(separator: " ").dropFirst().first {
            // An interim response (RFC 9110 §15.2) may have come before this one, so discard its fields.
            headers = HTTPHeaders()
            isMultiplexed = text.hasPrefix("HTTP/2 ")
            status = Int(code) ?? 0
            guard status >= 100 else { return refuse("invalid status code \(code)") }
        } else if let colon = text.firstIndex(of: ":") {
            let (name, value) = (String(text[..<colon]), String(text[text.index(after: colon)...]))
            headers.add(name, value)
            // libcurl would decompress such a body itself, without a limit.
            if name.lowercased() == "transfer-encoding", !Self.isFraming(value) {
                let codings = String(value.drop { $0 == " " || $0 == "\t" })
                return refuse("the \(name) \(VisibleText.excerpt(codings, limit: 40)) was not requested")
            }
        }
        return text.isEmpty && status >= 200
    }

    /// Counts the bytes of a line, which may also be a trailer.
    ///
    /// - Returns: whether there are not too many.
    mutating func count(_ more: Int) -> Bool {
        bytes = bytes.saturatingAdding(more)
        return allows(bytes)
    }

    /// Returns whether a response may have so many bytes of headers.
    mutating func allows(_ bytes: Int) -> Bool {
        bytes <= Self.mostBytes || refuse("its headers are longer than \(Self.mostBytes) bytes") != nil
    }

    /// Returns whether the transfer codings change only how the body is delimited.
    private static func isFraming(_ codings: String) -> Bool {
        codings.lowercased().split { $0 == "," || $0.isWhitespace }.allSatisfy { $0 == "chunked" || $0 == "identity" }
    }

    private mutating func refuse(_ why: String) -> Bool? {
        problem = why
        return nil
    }
}
