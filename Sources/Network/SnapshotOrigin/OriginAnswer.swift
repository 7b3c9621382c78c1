import RemoteSettingsModel
import SnapshotBundle

/// A server's response to a request, as a value that the HTTP server sends.
package enum OriginAnswer: Sendable {
    case resource(OriginResource)
    /// 307: a redirect to another URL of this server.
    case redirect(String, OriginRoute)
    /// 204: there is nothing newer than the client's state.
    case noContent(OriginRoute)
    case problem(OriginProblem, OriginRoute)
    /// The path is not part of the API. The HTTP server may respond in its own way.
    case unknown
}

/// A response, or the work that creates it. The request has already been parsed and checked.
package enum PreparedAnswer: Sendable {
    case ready(OriginAnswer)
    /// The work for a delta, a list or an archive that the first request for it creates. It may take long, so the HTTP
    /// server runs it where it does not delay other responses.
    case making(@Sendable () throws(Failure) -> OriginAnswer)

    /// Returns the response, after doing the work for it if necessary. Reads bundles.
    ///
    /// - Throws: `Failure` if a bundle can no longer be read.
    package func answer() throws(Failure) -> OriginAnswer {
        switch self {
        case .ready(let answer): answer
        case .making(let make): try make()
        }
    }
}

/// The kind of request, for statistics. The set of values is fixed.
package enum OriginRoute: String, Hashable, Sendable, CaseIterable {
    case root
    case monitor
    case changeset
    case delta
    case chain
    case attachment
    case attachmentsZip = "attachments-zip"
    case health
    case version
    case unknown
}
