import Foundation
import RemoteSettingsHTTP
import RemoteSettingsModel

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// One running request in `URLSession`. It builds a response from the callbacks of the session's delegate.
///
/// On systems where a task can be suspended, it is suspended while the buffer is full.
struct URLSessionTransfer: Sendable {
    #if canImport(FoundationNetworking)
    // On this system, a suspended task would start its request again, so the transfer fails instead when the buffer is
    // full. Downloads resume at their offset.
    private static let mostBuffered = 64 << 20
    #else
    private static let mostBuffered = 1 << 20
    #endif

    private let request: HTTPRequest
    let answer = AnswerBuffer(mostBuffered: Self.mostBuffered)

    init(_ request: HTTPRequest) {
        self.request = request
    }

    /// Fails the response if its head does not arrive in time, or if its body stops arriving.
    ///
    /// `URLSession` has a time-out too, but any bytes on the wire reset it. A head may arrive very slowly, and a
    /// compressed body may produce no bytes.
    func watch(_ task: URLSessionTask) async throws {
        func fail(_ reason: Failure) {
            answer.fail(Failure(request.url, reason))
            task.cancel()
        }
        try await WorkThreads.sleep(for: request.headTimeout)
        guard answer.hasHead else {
            return fail(.timeout(.head, seconds: Int(clamping: request.headTimeout.components.seconds)))
        }
        var before: Int?
        while let arrivals = answer.arrivals {
            if arrivals.pieces == before {
                return fail(.timeout(.body, seconds: Int(clamping: request.idleTimeout.components.seconds)))
            }
            before = arrivals.isPaused ? nil : arrivals.pieces
            try await WorkThreads.sleep(for: request.idleTimeout)
        }
    }

    /// Processes the head of the response.
    ///
    /// - Returns: whether to receive the body.
    func received(_ response: URLResponse) -> Bool {
        guard let response = response as? HTTPURLResponse else {
            answer.fail(Failure(request.url, .notHTTP("it has no status code")))
            return false
        }
        var headers = HTTPHeaders()
        for (name, value) in response.allHeaderFields { headers.add("\(name)", "\(value)") }
        answer.begin(.init(status: response.statusCode, headers: headers))
        return true
    }

    func received(_ data: Data, of task: URLSessionTask) {
        guard task.countOfBytesReceived <= request.wireLimit else {
            answer.fail(Failure(request.url, .tooLargeOnTheWire(limit: request.wireLimit)))
            return task.cancel()
        }
        #if canImport(FoundationNetworking)
        var isFull = false
        answer.append(data) { isFull = true }
        guard isFull else { return }
        let why = "the response arrived faster than it was read, and the buffer of \(Self.mostBuffered) bytes is full"
        answer.fail(Failure(request.url, .connection(why)))
        task.cancel()
        #else
        answer.append(data) { task.suspend() }
        #endif
    }

    func completed(_ task: URLSessionTask, _ error: (any Error)?) {
        let inBody = answer.hasHead
        if let error {
            answer.fail(Failure(request.url, reason(of: error, inBody: inBody, task: task)))
        } else if inBody {
            answer.finish()
        } else {
            answer.fail(Failure(request.url, .notHTTP("it has no headers")))
        }
    }

    private func reason(of error: any Error, inBody: Bool, task: URLSessionTask) -> Failure {
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
