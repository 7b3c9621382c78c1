import RemoteSettingsModel

/// The answer of an API, whatever its status.
package struct APIAnswer: Sendable {
    package let status: Int
    package let headers: HTTPHeaders
    package let body: Bytes
}

extension ServerClient {
    /// Sends one request to an API, such as that of a host of git repositories. Uses the network.
    ///
    /// The limits on time and size are those of a document. Nothing is repeated, and no redirect is followed, because
    /// the headers may contain a token.
    ///
    /// - Throws: ``Failure`` if there is no complete answer. An answer with any status is returned.
    package func call(
        _ method: HTTPMethod, _ url: HTTPURL, headers: [HTTPHeaders.Field], body: Bytes? = nil, limit: Int
    ) async throws(Failure) -> APIAnswer {
        var answer = try await exchange(
            url, method: method, body: body, headers: headers, limit: limit,
            until: deadline(.answer, seconds: limits.documentSeconds), accepts: { _ in true })
        var bytes: [UInt8] = []
        while let piece = try await nextPiece(of: &answer) {
            guard piece.count <= limit - bytes.count else { throw Failure(url, .tooLarge(limit: limit)) }
            bytes.append(contentsOf: piece)
        }
        return APIAnswer(status: answer.response.status, headers: answer.response.headers, body: Bytes(bytes))
    }
}
