import Foundation
import RemoteSettingsHTTP
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// One request under way in `URLSession`: its delegate's side, and the reader's.
///
/// More than ``mostBuffered`` bytes that nobody has read suspend the task until they are, where tasks can be suspended.
final class URLSessionTransfer: Sendable {
    struct Head: Sendable {
        let status: Int
        let headers: HTTPHeaders
    }

    #if canImport(FoundationNetworking)
        // A suspended task would be asked for again from the start here, so that the transfer ends instead; downloads go
        // on where they were.
        static let mostBuffered = 64 << 20
    #else
        static let mostBuffered = 1 << 20
    #endif

    private struct State {
        var head: Result<Head, HTTPError>?
        var buffer: [UInt8] = []
        var isSuspended = false
        /// The end of the body; set once.
        var end: Result<Void, HTTPError>?
        /// Counts what happened, so that a reader about to wait sees that something did.
        var changes = 0
        /// The one reader, waiting for something to change.
        var reader: CheckedContinuation<Void, Never>?
    }

    private let request: HTTPRequest
    private let state = Mutex(State())

    init(_ request: HTTPRequest) {
        self.request = request
    }

    // MARK: The reader's side

    func head() async -> Result<Head, HTTPError> {
        await wait { $0.head }
    }

    func piece(of task: URLSessionDataTask) async -> Result<[UInt8]?, HTTPError> {
        let (piece, resumes) = await wait { state -> (Result<[UInt8]?, HTTPError>, Bool)? in
            if !state.buffer.isEmpty {
                let piece = state.buffer
                let resumes = state.isSuspended
                state.buffer = []
                state.isSuspended = false
                return (.success(piece), resumes)
            }
            guard let end = state.end else { return nil }
            return (end.map { nil }, false)
        }
        if resumes { task.resume() }
        return piece
    }

    /// The answer's head did not come in time.
    func headIsLate() {
        change { state in
            guard state.head == nil else { return }
            let seconds = Int(clamping: request.headTimeout.components.seconds)
            state.head = .failure(HTTPError(request.url, .timeout(.head, seconds: seconds)))
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

    // MARK: The delegate's side

    /// - Returns: whether the body is wanted.
    func received(_ response: URLResponse) -> Bool {
        guard let response = response as? HTTPURLResponse else {
            change { $0.head = $0.head ?? .failure(HTTPError(request.url, .notHTTP("no status"))) }
            return false
        }
        var headers = HTTPHeaders()
        for (name, value) in response.allHeaderFields { headers.add("\(name)", "\(value)") }
        let head = Head(status: response.statusCode, headers: headers)
        change { $0.head = $0.head ?? .success(head) }
        return true
    }

    func received(_ data: Data, of task: URLSessionTask) {
        change { state in
            guard state.end == nil else { return }
            state.buffer.append(contentsOf: data)
            guard state.buffer.count > Self.mostBuffered, !state.isSuspended else { return }
            #if canImport(FoundationNetworking)
                state.end = .failure(
                    HTTPError(request.url, .connection("more than \(Self.mostBuffered) bytes came that nobody read")))
                task.cancel()
            #else
                state.isSuspended = true
                task.suspend()
            #endif
        }
    }

    func completed(_ task: URLSessionTask, _ error: (any Error)?) {
        change { state in
            let inBody = state.head != nil
            let failure = error.map { HTTPError(request.url, reason(of: $0, inBody: inBody, task: task)) }
            let end: Result<Void, HTTPError> = failure.map { .failure($0) } ?? .success(())
            state.end = state.end ?? end
            if state.head == nil {
                state.head = .failure(failure ?? HTTPError(request.url, .notHTTP("the answer has no head")))
            }
        }
    }

    private func reason(of error: any Error, inBody: Bool, task: URLSessionTask) -> HTTPError.Reason {
        let text = error.localizedDescription
        guard let code = (error as? URLError)?.code else { return .connection(text) }
        switch code {
        case .cancelled:
            return .cancelled
        case .timedOut:
            let seconds = Int(clamping: request.idleTimeout.components.seconds)
            return .timeout(inBody ? .body : .head, seconds: seconds)
        case .cannotFindHost, .dnsLookupFailed, .cannotConnectToHost, .notConnectedToInternet, .dataNotAllowed,
            .internationalRoamingOff, .callIsActive:
            return .unreachable(text)
        case .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateUntrusted,
            .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid, .clientCertificateRejected,
            .clientCertificateRequired:
            return .tls(text)
        case .appTransportSecurityRequiresSecureConnection:
            return .insecure
        case .cannotDecodeRawData, .cannotDecodeContentData:
            return .badEncoding(text)
        case .badServerResponse, .cannotParseResponse:
            return .notHTTP(text)
        case .networkConnectionLost where inBody:
            let expected = task.countOfBytesExpectedToReceive
            return .truncated(
                expected: expected > 0 ? Int(clamping: expected) : nil,
                received: Int(clamping: task.countOfBytesReceived))
        default:
            return .connection(text)
        }
    }
}
