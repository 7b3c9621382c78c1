import RemoteSettingsModel

extension ServerClient {
    /// A whole document, of at most `limit` bytes after decompression. A request that fails is repeated where that may
    /// help.
    func document(_ url: HTTPURL, limit: Int) async throws(HTTPError) -> (status: Int, document: ServerDocument) {
        try await retrying { () async throws(HTTPError) -> (status: Int, document: ServerDocument) in
            var answer = try await self.exchange(url, accepts: { $0 == 200 || $0 == 204 }) { _ in
                [HTTPHeaders.Field("Accept-Encoding", "gzip")]
            }
            try answer.checkEncoding()
            let body = answer.response.status == 204 ? [] : try await self.wholeBody(of: &answer, limit: limit)
            let document = ServerDocument(body: Bytes(body), url: answer.url, headers: answer.response.headers)
            return (answer.response.status, document)
        }
    }

    private func wholeBody(of answer: inout Answer, limit: Int) async throws(HTTPError) -> [UInt8] {
        let announced = answer.contentLength
        if let announced, announced > limit { throw HTTPError(answer.url, .tooLarge(limit: limit)) }
        var body: [UInt8] = []
        // No more than a few megabytes are allocated on the word of a header.
        body.reserveCapacity(min(announced ?? 0, 4 << 20))
        while let piece = try await nextPiece(of: &answer) {
            guard piece.count <= limit - body.count else { throw HTTPError(answer.url, .tooLarge(limit: limit)) }
            body.append(contentsOf: piece)
        }
        if !answer.isCompressed, let announced, announced != body.count {
            throw HTTPError(answer.url, .truncated(expected: announced, received: body.count))
        }
        return body
    }

    /// Reads the next bytes of a body, and counts them.
    func nextPiece(of answer: inout Answer) async throws(HTTPError) -> [UInt8]? {
        if Task.isCancelled { throw HTTPError(answer.url, .cancelled) }
        guard let piece = try await answer.response.body.next() else { return nil }
        state.withLock { $0.metrics.bodyBytes += piece.count }
        return piece
    }

    /// Calls `attempt` until it succeeds, fails with an error that a repetition cannot mend, or has failed
    /// `Limits.tries` times.
    func retrying<Result>(
        _ attempt: () async throws(HTTPError) -> Result
    ) async throws(HTTPError) -> Result {
        var attempts = 0
        while true {
            attempts += 1
            do {
                return try await attempt()
            } catch {
                guard error.isRetryable, attempts < limits.tries else { throw error }
                try await pause(after: error, attempt: attempts)
            }
        }
    }

    func pause(after error: HTTPError, attempt: Int) async throws(HTTPError) {
        let pause = retryPolicy.pause(before: attempt, random: environment.random())
        state.withLock { $0.metrics.retries += 1 }
        onEvent(.retry(error, attempt: attempt, after: pause))
        try await sleep(pause, of: error.url)
    }

    func sleep(_ duration: Duration, of url: String) async throws(HTTPError) {
        do {
            try await environment.sleep(duration)
        } catch {
            throw HTTPError(url, .cancelled)
        }
    }
}
