import SnapshotBundle

/// A server's answer to a request, as a value. The HTTP server sends it.
package enum OriginAnswer: Sendable {
    case resource(OriginResource)
    /// 307 to another URL of the same server.
    case redirect(String, OriginRoute)
    /// 204: nothing can be newer than what the client has.
    case noContent(OriginRoute)
    case problem(OriginProblem, OriginRoute)
    /// The path is not part of the API. The HTTP server may answer it in another way.
    case unknown
}

/// An answer, or the work that leads to it, after the path and the query have been understood.
package enum PreparedAnswer: Sendable {
    case ready(OriginAnswer)
    /// A delta, a list or an archive, which the first request for it makes. This may take long, so the HTTP server does
    /// this work where it delays no other answer.
    case making(@Sendable () throws(BundleError) -> OriginAnswer)

    /// Does the work, if there is any. Reads bundles.
    ///
    /// - Throws: `BundleError` if a bundle cannot be read any more.
    package func answer() throws(BundleError) -> OriginAnswer {
        switch self {
        case .ready(let answer): answer
        case .making(let make): try make()
        }
    }
}

/// What an answer is about, for statistics. There is a fixed number of values.
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
