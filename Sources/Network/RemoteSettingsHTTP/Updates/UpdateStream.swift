import RemoteSettingsModel

extension ServerURL {
    /// The URL of the server's update channel, an event stream.
    package var updates: HTTPURL { url.appending(path: "/updates") }
}

extension ServerClient {
    /// Opens the server's update channel, an event stream that may stay open indefinitely.
    ///
    /// It does not reconnect after a failure or when the stream finishes. No `Last-Event-ID` is sent, so the first
    /// event describes the server's current state.
    ///
    /// - Parameter url: the event stream; `nil` for the server's own, `<base URL>/updates`. Redirects are followed.
    /// - Throws: ``Failure``; for example `status` for any status except 200, and `notAnEventStream` for a response
    ///   with a different content type.
    package func updates(at url: HTTPURL? = nil) async throws(Failure) -> UpdateStream {
        let url = url ?? server.updates
        try server.checkScheme(of: url)
        let answer = try await exchange(
            url,
            headers: [
                .init("Accept", UpdateStream.contentType), .init("Accept-Encoding", "identity"),
                .init("Cache-Control", "no-store"),
            ], limit: .max, until: deadline(.answer, seconds: limits.documentSeconds),
            idleSeconds: Limits.updateIdleSeconds, accepts: { $0 == 200 })
        let type = answer.response.headers["Content-Type"] ?? "nothing"
        let name = type.prefix { $0 != ";" && $0 != " " }
        guard name.lowercased() == UpdateStream.contentType else {
            throw Failure(
                answer.url,
                .notAnEventStream(
                    "expected the content type \(UpdateStream.contentType), found "
                        + "\(VisibleText.excerpt(type, limit: 80))"
                ))
        }
        try answer.checkEncoding()
        return UpdateStream(answer.response.body, url: answer.url)
    }
}

/// One connection to an update channel. Releasing it closes the connection.
///
/// It buffers one received piece, one line and one event, and reads only as fast as ``next()`` is called.
package struct UpdateStream {
    static let contentType = "text/event-stream"
    /// The maximum number of bytes read from one connection: 64 MiB. The heartbeats of `rsdump serve` take 75 KB a day.
    static let mostBytes = 64 << 20

    /// The URL of the stream, after redirects.
    let url: HTTPURL
    private var body: any HTTPBody
    private var reader = EventStreamReader()
    private var comments = 0
    private var bytes = 0
    private var retryMilliseconds: UInt64?

    init(_ body: any HTTPBody, url: HTTPURL) {
        self.body = body
        self.url = url
    }

    /// Waits for the next message; returns `nil` if the server has closed the stream.
    ///
    /// - Throws: ``Failure`` if the connection breaks, if nothing arrives within the transport's idle time-out, or if
    ///   the stream, a line or an event exceeds its limit. In a cancelled task, the error is `cancelled`.
    package mutating func next() async throws(Failure) -> UpdateMessage? {
        while true {
            if let message = try buffered() { return message }
            guard let piece = try await body.next() else { return nil }
            bytes = bytes.saturatingAdding(piece.count)
            guard bytes <= Self.mostBytes else { throw Failure(url, .tooLarge(limit: Self.mostBytes)) }
            reader.feed(piece)
        }
    }

    /// Returns the next message in the bytes that have already arrived; `nil` if they contain no complete one.
    private mutating func buffered() throws(Failure) -> UpdateMessage? {
        let event = try mapFailure(of: try reader.next()) { Failure(url, .notAnEventStream("\($0)")) }
        if let event {
            do throws(Failure) {
                return try UpdateEvent(event).map { .event($0) } ?? .heartbeat
            } catch {
                return .refused(error)
            }
        }
        if let asked = reader.retryMilliseconds, asked != retryMilliseconds {
            retryMilliseconds = asked
            return .reconnectionTime(.milliseconds(Int64(clamping: asked)))
        }
        guard reader.comments != comments else { return nil }
        comments = reader.comments
        return .heartbeat
    }
}
