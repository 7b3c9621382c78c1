import RemoteSettingsModel

/// Why a request failed, or why a collection's state was refused.
package struct HTTPError: CodedError {
    /// The requested URL, after redirects, or the text that should have been a URL; empty if the error has none.
    let url: String
    /// What went wrong.
    let reason: Reason

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

    /// What went wrong: a code for programs, and a sentence and a remedy for people.
    package struct Reason: Hashable, Sendable, CustomStringConvertible {
        let code: FailureCode
        package let description: String
        /// What to do next; `nil` if the sentence says it.
        let remedy: String?
        /// The phase that took too long; `nil` for all other errors.
        let phase: TimeoutPhase?
        /// The status of the answer; `nil` if the status is not the error.
        let status: Int?
        /// What is wrong with a collection's state; `nil` if only a request failed.
        let fault: StateFault?
        /// Whether the answer came from something else than an HTTP server, so the same request fails again.
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

    package var code: FailureCode { reason.code }

    /// What is wrong with a collection's state; `nil` if only a request failed.
    package var fault: StateFault? { reason.fault }

    /// Whether the same request may succeed a little later: after a time-out, a broken connection, 429 or 5xx.
    var isRetryable: Bool {
        switch code {
        case .timeout: reason.phase != .answer && reason.phase != .run
        case .unreachable, .broken, .status(429), .status(500...599): !reason.isFinal
        default: false
        }
    }

    /// Whether the server cannot be used now: it was not reached, broke off, was too slow, or answered with an error of
    /// its own (5xx) that does not say when to come back.
    package var isUnavailability: Bool {
        switch code {
        case .unreachable, .timeout, .tls, .broken, .status(500...599): true
        default: false
        }
    }

    /// Whether no answer began: there was no connection, or no head of an answer in time.
    package var isUnanswered: Bool { code == .unreachable || reason.phase == .connect || reason.phase == .head }

    /// The time until which the server asked for no requests, and how far it is away; `nil` if it did not ask.
    package var hold: (until: Timestamp, seconds: Int)? {
        if case .backoff(let until, let seconds) = code { (until, seconds) } else { nil }
    }

    /// The status of the answer; `nil` if the status is not the error.
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
    /// The error on one line without control characters, whatever the server sent.
    package var description: String { reason.remedy.map { "\(problem); \($0)" } ?? problem }

    /// What went wrong, without advice.
    package var problem: String {
        Self.printable(url.isEmpty ? "\(reason)" : "\(VisibleText.excerpt(url, limit: 300)): \(reason)")
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

// The sentences.
extension HTTPError.Reason {
    package static let cancelled = Self(.cancelled, "cancelled")

    /// The URL is plain `http` on another machine, which the configuration does not allow.
    package static let insecure = Self(
        .usage, "plain HTTP is not allowed; use https, or allow HTTP for this server in the configuration")

    package static func invalidURL(_ why: String) -> Self { Self(.usage, "invalid URL: \(why)") }

    /// An attachment's `location` is not a simple path below the attachments' base URL.
    static func badLocation(_ why: String) -> Self { Self(.usage, "invalid attachment location: \(why)") }

    /// - Parameter body: the beginning of the answer, at most ``ServerClient/errorBodyBytes``.
    package static func status(_ code: Int, body: String) -> Self {
        let text = sentence(inJSON: body) ?? body
        return Self(
            .status(code), "the server answered \(code)\(text.isEmpty ? "" : ": \(VisibleText.excerpt(text))")",
            status: code)
    }

    /// The sentence for people in Kinto's JSON document of an error; `nil` for any other body.
    private static func sentence(inJSON body: String) -> String? {
        guard body.hasPrefix("{"), let error = try? JSONValue(parsing: Bytes(utf8: body), limits: Limits()) else {
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

    /// - Parameter expected: `nil` if the answer did not announce its length.
    package static func truncated(expected: Int?, received: Int) -> Self {
        let text =
            expected.map { "the response body is truncated: received \(received) of \($0) bytes" }
            ?? "the response body is truncated after \(received) bytes"
        return Self(.broken, text)
    }

    package static func notHTTP(_ why: String) -> Self {
        Self(.broken, "the response is not valid HTTP: \(why)", isFinal: true)
    }

    static let redirectLoop = Self(.redirect, "redirect loop")

    static func tooManyRedirects(limit: Int) -> Self {
        Self(.redirect, "more than \(limit) redirects")
    }

    static func badRedirect(_ why: String) -> Self { Self(.redirect, "cannot follow the redirect: \(why)") }

    /// - Parameter limit: in bytes after decompression.
    static func tooLarge(limit: Int) -> Self {
        Self(.content, "the response body is over the limit of \(limit) bytes")
    }

    package static func tooLargeOnTheWire(limit: Int) -> Self {
        Self(.content, "the compressed response body is over the limit of \(limit) bytes")
    }

    static func badRange(_ why: String) -> Self {
        Self(.content, "the response is not the requested part of the file: \(why)")
    }

    /// The answer is not an event stream, or it is one that cannot be read further.
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

    /// The server's root document has no base URL of attachments.
    static let noAttachments = Self(
        .missing, "this server has no attachments (capabilities.attachments.base_url is missing)",
        remedy: "fetch the collection without them (attachments: none in dumps.yaml)")

    static func damagedRoot(_ error: FormatError) -> Self {
        Self(error.code, "the server's root document is damaged: \(error)", remedy: "try again later")
    }
}
