import RemoteSettingsModel

extension ServerClient {
    /// Fetches a whole document of at most `limit` bytes after decompression. A failed request is repeated if that may
    /// help.
    func document(
        _ url: HTTPURL, _ headers: [HTTPHeaders.Field] = [], limit: Int
    ) async throws(Failure) -> (status: Int, document: ServerDocument) {
        let deadline = deadline(.answer, seconds: limits.documentSeconds)
        var attempts = 0
        while true {
            attempts += 1
            do {
                return try await documentOnce(url, headers, limit: limit, until: deadline)
            } catch {
                try await pauseIfRepeatable(error, attempts: attempts, until: deadline)
            }
        }
    }

    private func documentOnce(
        _ url: HTTPURL, _ headers: [HTTPHeaders.Field], limit: Int, until deadline: Deadline
    ) async throws(Failure) -> (status: Int, document: ServerDocument) {
        var answer = try await exchange(
            url, headers: [.init("Accept-Encoding", "gzip")] + headers, limit: limit, until: deadline,
            accepts: { $0 == 200 || $0 == 204 })
        try answer.checkEncoding()
        let body = answer.response.status == 204 ? [] : try await wholeBody(of: &answer, limit: limit)
        let document = ServerDocument(body: Bytes(body), url: answer.url, headers: answer.response.headers)
        return (answer.response.status, document)
    }

    private func wholeBody(of answer: inout Answer, limit: Int) async throws(Failure) -> [UInt8] {
        let announced = answer.contentLength
        if let announced, announced > limit { throw Failure(answer.url, .tooLarge(limit: limit)) }
        var body: [UInt8] = []
        // The server controls this header, so no more than 4 MiB are allocated before the bytes arrive.
        body.reserveCapacity(min(announced ?? 0, 4 << 20))
        while let piece = try await nextPiece(of: &answer) {
            guard piece.count <= limit - body.count else { throw Failure(answer.url, .tooLarge(limit: limit)) }
            let count = body.count + piece.count
            // While the body is copied to a larger array, it is in memory twice. So the last array is as large as the
            // limit, and replaces one of at most half the size. Memory is used only where bytes have arrived.
            if count > body.capacity { body.reserveCapacity(count <= limit / 8 ? count * 4 : limit) }
            body.append(contentsOf: piece)
        }
        if !answer.isCompressed, let announced, announced != body.count {
            throw Failure(answer.url, .truncated(expected: announced, received: body.count))
        }
        // A compressed stream always has a head, so an empty body is incomplete. Without a content length, nothing else
        // shows that the response was cut off.
        if answer.isCompressed, body.isEmpty {
            throw Failure(answer.url, .truncated(expected: announced, received: 0))
        }
        return body
    }

    /// Reads the next bytes of a body and counts them.
    func nextPiece(of answer: inout Answer) async throws(Failure) -> [UInt8]? {
        if Task.isCancelled { throw Failure(answer.url, .cancelled) }
        guard let piece = try await answer.response.body.next() else { return nil }
        shared.withLock { $0.metrics.bodyBytes += piece.count }
        return piece
    }

    /// Returns the deadline for work that begins now. It is never later than the deadline of the run.
    func deadline(_ phase: Failure.TimeoutPhase, seconds: Int) -> Deadline {
        let own = Deadline(phase, seconds: seconds, from: environment.uptime())
        return own.end < runDeadline.end ? own : runDeadline
    }

    /// Waits before a request is repeated.
    ///
    /// - Throws: `error` if repeating the request cannot help, if there have been `Limits.tries` attempts, or if there
    ///   is no time for one more. If the server has requested a backoff, it throws
    ///   ``Failure/backoff(until:seconds:)`` instead.
    func pauseIfRepeatable(_ error: Failure, attempts: Int, until deadline: Deadline) async throws(Failure) {
        let pause = retryPauses.pause(after: attempts, random: environment.random())
        guard error.isRetryable, attempts < limits.tries, environment.uptime() + pause < deadline.end else {
            guard error.isRetryable, error.status != nil, let url = try? HTTPURL(error.place),
                let hold = standingHold(on: url)
            else { throw error }
            throw Failure(url, .backoff(until: hold.until, seconds: hold.seconds))
        }
        shared.withLock { $0.metrics.retries += 1 }
        onEvent(.retry(error, attempt: attempts, after: pause))
        try await sleep(pause, of: error.place)
    }

    func sleep(_ duration: Duration, of url: String) async throws(Failure) {
        do {
            try await (environment.pause ?? environment.sleep)(duration)
        } catch {
            throw Failure(url, error as? Failure ?? .cancelled)
        }
    }
}
