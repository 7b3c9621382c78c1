import RemoteSettingsModel

/// The final response after all redirects.
struct Answer {
    var response: HTTPResponse
    let url: HTTPURL

    /// The announced length of the body on the wire in bytes; `nil` if it is missing or not a valid number.
    var contentLength: Int? { response.headers["Content-Length"].flatMap { ContentRange.number($0) } }

    /// The codings of the body according to the headers, in lower case; empty if there are none.
    var encoding: String {
        let codings = response.headers.all("Content-Encoding").map { $0.lowercased() }
        return codings.filter { $0 != "identity" && !$0.isEmpty }.joined(separator: ", ")
    }

    var isCompressed: Bool { !encoding.isEmpty }

    var isGzip: Bool { encoding == "gzip" || encoding == "x-gzip" }

    /// Whether the body is a delta from the older file that the request specified (RFC 9842).
    var isDelta: Bool { response.status == 200 && encoding == FileDelta.coding }

    /// Checks the content coding.
    ///
    /// - Throws: ``Failure/badEncoding(_:)`` for any compression except gzip, and for several codings.
    func checkEncoding() throws(Failure) {
        guard !isCompressed || isGzip else {
            throw Failure(
                url, .badEncoding("the encoding \(VisibleText.excerpt(encoding, limit: 40)) was not requested"))
        }
    }

    /// Refuses a `Content-Length` that is not a number, and several different ones. HTTP libraries disagree about such
    /// headers: some use the leading digits, and some use the first header.
    ///
    /// - Throws: ``Failure/notHTTP(_:)`` for such a length.
    func checkLength() throws(Failure) {
        let lengths = response.headers.all("Content-Length")
        guard let first = lengths.first else { return }
        guard ContentRange.number(first) != nil, lengths.allSatisfy({ $0 == first }) else {
            let found = VisibleText.excerpt(lengths.joined(separator: ", "), limit: 40)
            throw Failure(url, .notHTTP("invalid Content-Length: \(found)"))
        }
    }
}

extension ServerClient {
    /// The largest number of redirects that are followed for one request.
    static var redirects: Int { 5 }
    /// The number of bytes of an error response's body that are kept for the error message.
    static var errorBodyBytes: Int { 2 << 10 }

    /// Sends one request and follows its redirects. It does not repeat a failed request.
    ///
    /// - Parameters:
    ///   - method: the method, which is the same after a redirect.
    ///   - body: the body of the requests.
    ///   - headers: the headers of the requests, in addition to `User-Agent`.
    ///   - limit: the largest size of the body in bytes after decompression.
    ///   - idleSeconds: the longest wait for the next bytes of a body without an end, which has no limits on its size,
    ///     throughput and total time; `nil` for a body with limits.
    ///   - accepts: returns whether a status is accepted. A response with any other status is thrown as an error.
    func exchange(
        _ start: HTTPURL, method: HTTPMethod = .get, body: Bytes? = nil, headers: [HTTPHeaders.Field], limit: Int,
        until deadline: Deadline, idleSeconds: Int? = nil,
        accepts: (Int) -> Bool
    ) async throws(Failure) -> Answer {
        var url = start
        let (sum, isOver) = limit.addingReportingOverflow(limits.wireExcessBytes)
        // There are so few redirects that a set would cost more than it saves.
        var seen = [start]
        while true {
            try await waitForHold(on: url)
            try await keepPace(with: url)
            if Task.isCancelled { throw Failure(url, .cancelled) }
            try deadline.check(environment.uptime(), of: url)
            shared.withLock { $0.metrics.requests += 1 }
            var request = HTTPRequest(
                url: url, headers: HTTPHeaders([.init("User-Agent", userAgent.description)] + headers),
                headTimeout: .seconds(limits.headTimeoutSeconds),
                idleTimeout: .seconds(idleSeconds ?? limits.idleTimeoutSeconds),
                wireLimit: isOver || idleSeconds != nil ? .max : sum)
            (request.method, request.body) = (method, body)
            var response = try await transport.send(request)
            recordProtocol(response, of: url)
            if idleSeconds == nil || response.status != 200 {
                response.body = MeteredBody(
                    response.body, of: request, until: deadline, limits: limits, uptime: environment.uptime)
            }
            var answer = Answer(response: try response.decoded(for: request), url: url)
            try answer.checkLength()
            recordAlert(answer)
            recordHold(answer)
            let status = answer.response.status
            if accepts(status) { return answer }
            guard [301, 302, 303, 307, 308].contains(status) else { throw await failure(&answer) }
            let next = try target(of: answer)
            guard !seen.contains(next) else { throw Failure(next, .redirectLoop) }
            seen.append(next)
            guard seen.count <= Self.redirects + 1 else {
                throw Failure(next, .tooManyRedirects(limit: Self.redirects))
            }
            onEvent(.redirect(from: url, to: next))
            await drain(&answer)
            url = next
        }
    }

    private func recordProtocol(_ response: HTTPResponse, of url: HTTPURL) {
        shared.withLock { state in
            if response.isMultiplexed {
                state.multiplexed.insert(url.origin)
            } else if !state.multiplexed.isEmpty {
                state.multiplexed.remove(url.origin)
            }
        }
    }

    private func target(of answer: Answer) throws(Failure) -> HTTPURL {
        guard let location = answer.response.headers["Location"], !location.isEmpty else {
            throw Failure(answer.url, .badRedirect("it has no Location header"))
        }
        let target: HTTPURL
        do {
            target = try answer.url.resolving(location)
        } catch {
            throw Failure(answer.url, .badRedirect("\(error)"))
        }
        if target.scheme == .http {
            guard answer.url.scheme == .http else {
                throw Failure(answer.url, .init(.redirect, "redirects from https to http are not allowed: \(target)"))
            }
            try server.checkScheme(of: target)
        }
        return target
    }

    /// Reads the short body of a redirect, so that the connection can be reused.
    private func drain(_ answer: inout Answer) async {
        guard let length = answer.contentLength, length <= 16 << 10 else { return }
        while let piece = try? await answer.response.body.next() {
            shared.withLock { $0.metrics.bodyBytes += piece.count }
        }
    }

    /// Returns the error for a response whose status is not accepted.
    private func failure(_ answer: inout Answer) async -> Failure {
        let status = answer.response.status
        var body: [UInt8] = []
        while body.count < Self.errorBodyBytes, let piece = try? await nextPiece(of: &answer) {
            body.append(contentsOf: piece.prefix(Self.errorBodyBytes - body.count))
        }
        let mayRepeat = status == 429 || (500...599).contains(status)
        if mayRepeat, let hold = standingHold(on: answer.url), hold.left > .seconds(Self.patienceSeconds) {
            return Failure(answer.url, .backoff(until: hold.until, seconds: hold.seconds))
        }
        let text = Failure.printable(String(decoding: body, as: UTF8.self))
        return Failure(answer.url, .status(status, body: text))
    }
}
