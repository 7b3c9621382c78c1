import RemoteSettingsModel

/// An error that explains why a request failed, or why a collection's state was refused.
package struct HTTPError: CodedError {
    /// The requested URL, after redirects, or the invalid string in place of a URL; empty if the error has none.
    let url: String
    /// The reason for the error.
    let reason: Reason

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - url: the URL or string. Its user name and password are removed, so that they do not appear in logs.
    ///   - reason: the reason for the error.
    package init(_ url: String, _ reason: Reason) {
        self.url = Self.withoutUserInformation(url)
        self.reason = reason
    }

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - url: the requested URL, after redirects.
    ///   - reason: the reason for the error.
    package init(_ url: HTTPURL, _ reason: Reason) {
        self.url = url.description
        self.reason = reason
    }

    /// The reason for an error: a code for programs, and a sentence and a remedy for people.
    package struct Reason: Hashable, Sendable, CustomStringConvertible {
        let code: FailureCode
        package let description: String
        /// The next step for the user; `nil` if the sentence already includes it.
        let remedy: String?
        /// The phase that took too long; `nil` for all other errors.
        let phase: TimeoutPhase?
        /// The status of the response; `nil` if the status is not the reason for the error.
        let status: Int?
        /// The fault in a collection's state; `nil` if only a request failed.
        let fault: StateFault?
        /// Whether something other than an HTTP server responded, so that the same request would fail again.
        let isFinal: Bool

        package init(
            _ code: FailureCode, _ description: String, remedy: String? = nil, phase: TimeoutPhase? = nil,
            status: Int? = nil, fault: StateFault? = nil, isFinal: Bool = false
        ) {
            self.code = code
            self.description = description
            self.remedy = remedy
            self.phase = phase
            self.status = status
            self.fault = fault
            self.isFinal = isFinal
        }
    }

    /// The phase of a request that took too long.
    package enum TimeoutPhase: String, Hashable, Sendable {
        /// Opening the connection, including the TLS handshake.
        case connect
        /// Waiting for the head of the response.
        case head
        /// Waiting for the next piece of the body.
        case body
        /// A whole document or download, including repeated requests.
        case answer
        /// All requests of a run.
        case run
    }

    package var code: FailureCode { reason.code }

    /// The fault in a collection's state; `nil` if only a request failed.
    package var fault: StateFault? { reason.fault }

    /// Whether the same request may succeed a little later: after a time-out, a broken connection, 429 or 5xx.
    var isRetryable: Bool {
        switch code {
        case .timeout: reason.phase != .answer && reason.phase != .run
        case .unreachable, .broken, .status(429), .status(500...599): !reason.isFinal
        default: false
        }
    }

    /// Whether the server is temporarily unusable: it was unreachable, broke the connection, was too slow, or responded
    /// with a server error (5xx) without `Retry-After`.
    package var isUnavailability: Bool {
        switch code {
        case .unreachable, .timeout, .tls, .broken, .status(500...599): true
        default: false
        }
    }

    /// Whether no response arrived: there was no connection, or the head of the response did not arrive in time.
    package var isUnanswered: Bool { code == .unreachable || reason.phase == .connect || reason.phase == .head }

    /// The time until which the server asked clients to send no requests, and the number of seconds until then; `nil`
    /// if it did not ask.
    package var hold: (until: Timestamp, seconds: Int)? {
        if case .backoff(let until, let seconds) = code { (until, seconds) } else { nil }
    }

    /// The status of the response; `nil` if the status is not the reason for the error.
    package var status: Int? { reason.status }

    private static func withoutUserInformation(_ text: String) -> String {
        guard let slashes = text.firstRange(of: "//") else { return text }
        let rest = text[slashes.upperBound...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard let at = authority.lastIndex(of: "@") else { return text }
        return text[..<slashes.upperBound] + "…" + text[at...]
    }
}

extension HTTPError: CustomStringConvertible {
    /// The error on one line, with all control characters replaced by spaces.
    package var description: String { reason.remedy.map { "\(problem); \($0)" } ?? problem }

    /// The problem, without advice.
    package var problem: String { Self.printable(url.isEmpty ? "\(reason)" : "\(place): \(reason)") }

    /// The requested URL as a part of a sentence; empty if the error has none.
    package var place: String { Self.printable(VisibleText.excerpt(url, limit: 300)) }

    /// The problem without the URL.
    package var sentence: String { Self.printable("\(reason)") }

    /// The advice; `nil` if there is none.
    package var remedy: String? { reason.remedy }

    /// Returns `text` with its control characters replaced by spaces.
    static func printable(_ text: String) -> String {
        let isControl: (Unicode.Scalar) -> Bool = { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        var out = String.UnicodeScalarView()
        for scalar in text.unicodeScalars { out.append(isControl(scalar) ? " " : scalar) }
        return String(out)
    }
}

// The reasons and their sentences.
extension HTTPError.Reason {
    package static let cancelled = Self(.cancelled, "cancelled")

    /// The URL uses plain `http` for a remote host, which the configuration does not allow.
    package static let insecure = Self(
        .usage, "plain HTTP is not allowed; use https, or allow HTTP for this server in the configuration")

    package static func invalidURL(_ why: String) -> Self { Self(.usage, "invalid URL: \(why)") }

    /// An attachment's `location` is not a simple path below the attachments' base URL.
    static func badLocation(_ why: String) -> Self { Self(.usage, "invalid attachment location: \(why)") }

    /// The server responded with an error status.
    ///
    /// - Parameter body: the beginning of the response, at most ``ServerClient/errorBodyBytes``.
    package static func status(_ code: Int, body: String) -> Self {
        let text = sentence(inJSON: body) ?? body
        return Self(
            .status(code), "the server answered \(code)\(text.isEmpty ? "" : ": \(VisibleText.excerpt(text))")",
            status: code)
    }

    /// Returns the human-readable sentence in Kinto's JSON error document; `nil` for any other body.
    private static func sentence(inJSON body: String) -> String? {
        guard body.hasPrefix("{"), let error = try? JSONValue(parsing: Bytes(utf8: body)) else {
            return nil
        }
        return [error["message"]?.string, error["error"]?.string].compactMap(\.self).first { !$0.isEmpty }
    }

    package static func timeout(_ phase: HTTPError.TimeoutPhase, seconds: Int) -> Self {
        let text =
            switch phase {
            case .connect: "no connection within \(seconds) s"
            case .head: "no response within \(seconds) s"
            case .body: "no data received for \(seconds) s"
            case .answer: "the response was not complete within \(seconds) s"
            case .run: "the requests of this run took longer than \(seconds) s"
            }
        return Self(.timeout, text, phase: phase)
    }

    static func tooSlow(leastBytesPerSecond least: Int, seconds: Int) -> Self {
        Self(.timeout, "the transfer was slower than \(least) bytes per second for \(seconds) s", phase: .body)
    }

    package static func unreachable(_ why: String) -> Self { Self(.unreachable, "cannot connect: \(why)") }

    package static func tls(_ why: String) -> Self { Self(.tls, "cannot establish a TLS connection: \(why)") }

    package static func connection(_ why: String) -> Self { Self(.broken, "the connection was lost: \(why)") }

    /// The body is incomplete.
    ///
    /// - Parameter expected: the announced length in bytes; `nil` if the response did not announce it.
    package static func truncated(expected: Int?, received: Int) -> Self {
        let text =
            expected.map { "the response body is truncated: received \(received) of \($0) bytes" }
            ?? "the response body is truncated after \(received) bytes"
        return Self(.broken, text)
    }

    package static func notHTTP(_ why: String) -> Self {
        Self(.broken, "the response is not valid HTTP: \(why)", isFinal: true)
    }

    static let redirectLoop = Self(.redirect, "the server redirects in a loop")

    static func tooManyRedirects(limit: Int) -> Self {
        Self(.redirect, "the server redirects more than \(limit) times")
    }

    static func badRedirect(_ why: String) -> Self { Self(.redirect, "cannot follow the redirect: \(why)") }

    /// The body is too large.
    ///
    /// - Parameter limit: the limit in bytes, after decompression.
    static func tooLarge(limit: Int) -> Self {
        Self(.content, "the response body is over the limit of \(limit) bytes")
    }

    package static func tooLargeOnTheWire(limit: Int) -> Self {
        Self(.content, "the compressed response body is over the limit of \(limit) bytes")
    }

    static func badRange(_ why: String) -> Self {
        Self(.content, "the response is not the requested part of the file: \(why)")
    }

    /// The response is not an event stream, or it is an event stream that cannot be read any further.
    static func notAnEventStream(_ why: String) -> Self {
        Self(.content, "the response is not a valid event stream: \(why)")
    }

    /// The compressed body is damaged, or its compression was not requested.
    package static func badEncoding(_ why: String) -> Self {
        Self(.content, "the response body cannot be decompressed: \(why)")
    }

    static func backoff(until: Timestamp, seconds: Int) -> Self {
        Self(.backoff(until: until, seconds: seconds), "the server asked clients to wait; try again in \(seconds) s")
    }

    /// The server's root document has no base URL for attachments.
    static let noAttachments = Self(
        .missing, "this server has no attachments (capabilities.attachments.base_url is missing)",
        remedy: "in rsdump, fetch the collection without them (attachments: none in dumps.yaml)")

    static func damagedRoot(_ error: FormatError) -> Self {
        Self(error.code, "the server's root document is damaged: \(error)", remedy: "try again later")
    }
}
