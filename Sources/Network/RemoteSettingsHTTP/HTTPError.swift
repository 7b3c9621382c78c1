import RemoteSettingsModel

/// An error of one request. It always names the URL.
package struct HTTPError: Error, Hashable, Sendable {
    /// The requested URL, after redirects, or the text that should have been a URL.
    package let url: String
    /// What went wrong.
    package let reason: Reason

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - url: the URL or text. A user name and password in it are left out, so that neither gets into a log.
    ///   - reason: what went wrong.
    package init(_ url: String, _ reason: Reason) {
        self.url = Self.withoutUserInformation(url)
        self.reason = reason
    }

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - url: the requested URL, after redirects.
    ///   - reason: what went wrong.
    package init(_ url: HTTPURL, _ reason: Reason) {
        self.url = url.description
        self.reason = reason
    }

    /// What went wrong. Its description is a sentence for people.
    package enum Reason: Hashable, Sendable {
        /// The text is not a usable URL, for the given reason.
        case invalidURL(String)
        /// The URL is plain `http` on another machine, which the configuration does not allow.
        case insecure
        /// An attachment's `location` is not a simple path below the attachments' base URL, for the given reason.
        case badLocation(String)
        /// The server answered with an error status. `body` is the beginning of the answer, at most
        /// `Limits.errorBodyBytes`.
        case status(Int, body: String)
        /// Nothing arrived for `seconds` during this phase.
        case timeout(TimeoutPhase, seconds: Int)
        /// No connection could be made: unknown host, connection refused, or no route.
        case unreachable(String)
        /// The TLS handshake failed because of a certificate, a name or the protocol.
        case tls(String)
        /// The connection broke before the answer was complete.
        case connection(String)
        /// The body ended too early. `expected` is `nil` if the answer did not announce its length.
        case truncated(expected: Int?, received: Int)
        /// The body is longer than `limit`, in bytes after decompression.
        case tooLarge(limit: Int)
        /// The body has more than `limit` bytes on the wire, before decompression.
        case tooLargeOnTheWire(limit: Int)
        /// The body arrived at less than this many bytes a second, over this many seconds of waiting.
        case tooSlow(leastBytesPerSecond: Int, seconds: Int)
        /// A redirect returned to an earlier URL.
        case redirectLoop
        /// There were more redirects than `limit`.
        case tooManyRedirects(limit: Int)
        /// A redirect led from `https` to `http`.
        case redirectDowngrade(to: String)
        /// A redirect cannot be followed, for the given reason.
        case badRedirect(String)
        /// The server asked for no requests to the URL's `origin` until this time, which is `seconds` away.
        case backoff(until: Timestamp, seconds: Int)
        /// A partial answer is not the requested part, for the given reason.
        case badRange(String)
        /// The file does not have the requested range (416).
        case rangeNotSatisfied
        /// The compressed body is damaged, or its compression was not requested.
        case badEncoding(String)
        /// The answer is not HTTP.
        case notHTTP(String)
        /// The answer is not an event stream, or it is one that cannot be read further, for the given reason.
        case notAnEventStream(String)
        /// The task that made the request was cancelled.
        case cancelled
    }

    /// The phase of a request that took too long.
    package enum TimeoutPhase: String, Hashable, Sendable {
        /// Making the connection, including the TLS handshake.
        case connect
        /// Waiting for the head of the answer.
        case head
        /// Waiting for the next piece of the body.
        case body
        /// A whole document or download, including repetitions.
        case answer
        /// All requests of a run.
        case run
    }

    /// The kind of error, which decides exit codes and what to do next.
    package enum Category: Hashable, Sendable {
        /// The URL or the configuration is wrong. No request was sent.
        case usage
        /// No server answered.
        case unreachable
        /// The server asked clients to come back later.
        case backoff
        /// The answer is not the requested document.
        case answer
        /// The task that made the request was cancelled.
        case cancelled
    }

    /// The kind of error of ``reason``.
    package var category: Category {
        switch reason {
        case .invalidURL, .insecure, .badLocation: .usage
        case .timeout(.connect, _), .timeout(.head, _), .unreachable: .unreachable
        case .backoff: .backoff
        case .cancelled: .cancelled
        default: .answer
        }
    }

    /// Whether the same request may succeed a little later: after a time-out, a broken connection, 429 or 5xx.
    package var isRetryable: Bool {
        switch reason {
        case .timeout(.answer, _), .timeout(.run, _): false
        case .timeout, .tooSlow, .unreachable, .connection, .truncated: true
        case .status(let code, _): code == 429 || (500...599).contains(code)
        default: false
        }
    }

    /// Whether the server could not be used at all.
    ///
    /// No connection could be made, or it broke or was too slow. The answer of a gateway or of an unavailable server
    /// (502, 503, 504) counts too, if it does not say when to come back.
    package var isNetworkFailure: Bool {
        switch reason {
        case .timeout, .tooSlow, .unreachable, .tls, .connection, .truncated, .notHTTP: true
        case .status(let code, _): (502...504).contains(code)
        default: false
        }
    }

    /// Whether the server cannot be used now, because of a network failure or any error of the server itself (5xx).
    package var isUnavailability: Bool { isNetworkFailure || status.map { (500...599).contains($0) } ?? false }

    /// The status of the answer; `nil` if the status is not the error.
    package var status: Int? {
        if case .status(let code, _) = reason { code } else { nil }
    }

    private static func withoutUserInformation(_ text: String) -> String {
        guard let slashes = text.firstRange(of: "//") else { return text }
        let rest = text[slashes.upperBound...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard let at = authority.lastIndex(of: "@") else { return text }
        return text[..<slashes.upperBound] + "…" + text[at...]
    }
}

extension HTTPError: CustomStringConvertible {
    /// The error on one line without control characters, whatever the server sent.
    package var description: String {
        Self.printable("\(VisibleText.excerpt(url, limit: 300)): \(reason)")
    }

    /// `text` with its control characters replaced by spaces.
    static func printable(_ text: String) -> String {
        let isControl: (Unicode.Scalar) -> Bool = { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        var out = String.UnicodeScalarView()
        for scalar in text.unicodeScalars { out.append(isControl(scalar) ? " " : scalar) }
        return String(out)
    }
}

extension HTTPError.Reason: CustomStringConvertible {
    package var description: String {
        switch self {
        case .invalidURL(let why): "not a usable URL: \(why)"
        case .insecure: "plain http is not allowed; use https, or allow plain http for this server in the configuration"
        case .badLocation(let why): "the attachment's location is refused: \(why)"
        case .status(let code, let body):
            "the server answered \(code)\(body.isEmpty ? "" : ": \(VisibleText.excerpt(body))")"
        case .timeout(.connect, let seconds): "no connection within \(seconds) s"
        case .timeout(.head, let seconds): "no answer within \(seconds) s"
        case .timeout(.body, let seconds): "nothing more of the body arrived within \(seconds) s"
        case .timeout(.answer, let seconds): "the answer was not complete within \(seconds) s"
        case .timeout(.run, let seconds): "the requests of this run took longer than \(seconds) s"
        case .unreachable(let why): "cannot connect: \(why)"
        case .tls(let why): "cannot make a secure connection: \(why)"
        case .connection(let why): "the connection broke: \(why)"
        case .truncated(let expected?, let received): "the body ended after \(received) of \(expected) bytes"
        case .truncated(nil, let received): "the body ended early, after \(received) bytes"
        case .tooLarge(let limit): "the body is longer than the limit of \(limit) bytes"
        case .tooLargeOnTheWire(let limit): "the body is longer than \(limit) bytes on the wire, before decompression"
        case .tooSlow(let least, let seconds): "the body arrived at less than \(least) bytes a second for \(seconds) s"
        case .redirectLoop: "the server redirects in a loop"
        case .tooManyRedirects(let limit): "the server redirects more than \(limit) times"
        case .redirectDowngrade(let target): "a redirect from https to plain http is refused: \(target)"
        case .badRedirect(let why): "the redirect cannot be followed: \(why)"
        case .backoff(_, let seconds): "the server asked to wait; try again in \(seconds) s"
        case .badRange(let why): "the answer is not the requested part of the file: \(why)"
        case .rangeNotSatisfied: "the file on the server does not have the requested part"
        case .badEncoding(let why): "the body cannot be decompressed: \(why)"
        case .notHTTP(let why): "the answer is not HTTP: \(why)"
        case .notAnEventStream(let why): "the answer is not a usable event stream: \(why)"
        case .cancelled: "cancelled"
        }
    }
}
