import RemoteSettingsModel

// Failed requests, and their URLs.
extension Failure {
    /// Creates the failure of a request, on one line.
    ///
    /// - Parameter url: the requested URL, after redirects, or the invalid string in place of a URL. Its user name and
    ///   password are removed, so that they do not appear in logs.
    package init(_ url: String, _ failure: Failure) {
        self = failure
        place = Self.printable(Self.withoutUserInformation(url))
        problem = Self.printable(problem)
    }

    /// Creates the failure of a request, on one line.
    ///
    /// - Parameter url: the requested URL, after redirects.
    package init(_ url: HTTPURL, _ failure: Failure) {
        self.init("\(url)", failure)
    }

    private static func withoutUserInformation(_ text: String) -> String {
        guard let slashes = text.firstRange(of: "//") else { return text }
        let rest = text[slashes.upperBound...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard let at = authority.lastIndex(of: "@") else { return text }
        return text[..<slashes.upperBound] + "…" + text[at...]
    }

    /// Returns `text` with its control characters replaced by spaces.
    static func printable(_ text: String) -> String {
        let isControl: (Unicode.Scalar) -> Bool = { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        var out = String.UnicodeScalarView()
        for scalar in text.unicodeScalars { out.append(isControl(scalar) ? " " : scalar) }
        return String(out)
    }

    // MARK: Properties from which the callers decide how to react
    /// The phase that took too long; `nil` for all other failures.
    private var phase: TimeoutPhase? {
        if case .timeout(let phase)? = cause { phase } else { nil }
    }

    /// Whether the same request may succeed a little later: after a time-out, a broken connection, 429 or 5xx.
    var isRetryable: Bool {
        switch code {
        case .timeout: phase != .answer && phase != .run
        case .unreachable, .broken, .status(429), .status(500...599): cause != .notHTTP
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

    /// The time until which the server asked clients to send no requests, and the number of seconds until then; `nil`
    /// if it did not ask.
    package var hold: (until: Timestamp, seconds: Int)? {
        if case .backoff(let until, let seconds) = code { (until, seconds) } else { nil }
    }

    /// The error status of the response; `nil` if the status is not the reason for the failure.
    package var status: Int? {
        switch (code, cause) {
        case (.status(let status), _): status
        case (_, .unknownCollection(let status)?): status
        default: nil
        }
    }

    // MARK: The reasons and their sentences
    package static let cancelled = Self(.cancelled, "cancelled")

    /// The URL uses plain `http` for a remote host, which the configuration does not allow.
    package static let insecure = Self(
        .usage,
        "plain HTTP is not allowed; use https, or allow it for this server (allow-plain-http: true in dumps.yaml; "
            + "in an app, RemoteSettingsConfig.allowsPlainHTTP)")

    package static func invalidURL(_ why: String) -> Self { Self(.usage, "invalid URL: \(why)") }

    /// An attachment's `location` is not a simple path below the attachments' base URL.
    static func badLocation(_ why: String) -> Self { Self(.usage, "invalid attachment location: \(why)") }

    /// The server responded with an error status.
    ///
    /// - Parameter body: the beginning of the response, at most ``ServerClient/errorBodyBytes``.
    package static func status(_ code: Int, body: String) -> Self {
        let text = sentence(inJSON: body) ?? (body.hasPrefix("<") ? "a web page" : body)
        return Self(.status(code), "the server answered \(code)\(text.isEmpty ? "" : ": \(VisibleText.excerpt(text))")")
    }

    /// Returns the human-readable sentence in Kinto's JSON error document; `nil` for any other body.
    private static func sentence(inJSON body: String) -> String? {
        guard body.hasPrefix("{"), let error = try? JSONValue(parsing: Bytes(utf8: body)) else { return nil }
        return [error["message"]?.string, error["error"]?.string].compactMap(\.self).first { !$0.isEmpty }
    }

    package static func timeout(_ phase: Failure.TimeoutPhase, seconds: Int) -> Self {
        let text =
            switch phase {
            case .connect: "no connection within \(seconds) s"
            case .head: "no response within \(seconds) s"
            case .body: "no data received for \(seconds) s"
            case .answer: "the response was not complete within \(seconds) s"
            case .run: "the requests of this run took longer than \(seconds) s"
            }
        return Self(.timeout, text, cause: .timeout(phase))
    }

    static func tooSlow(leastBytesPerSecond least: Int, seconds: Int) -> Self {
        Self(
            .timeout, "the transfer was slower than \(least) bytes per second for \(seconds) s", cause: .timeout(.body))
    }

    package static func unreachable(_ why: String) -> Self {
        Self(.unreachable, "cannot connect: \(why)", remedy: "check the server's URL and the network")
    }

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
        Self(.broken, "the response is not valid HTTP: \(why)", cause: .notHTTP)
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

    static func damagedRoot(_ error: Failure) -> Self {
        Self(.content, "the server's root document is damaged: \(error)", remedy: "try again later")
    }
}
