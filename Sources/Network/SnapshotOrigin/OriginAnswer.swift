import SnapshotBundle

/// An origin's answer to a request, as a value. The server turns it into HTTP.
package enum OriginAnswer: Sendable {
    case resource(OriginResource)
    /// 307 to another URL of the same origin.
    case redirect(String, OriginRoute)
    /// 204: nothing can be newer than what the client has.
    case noContent(OriginRoute)
    case problem(OriginProblem, OriginRoute)
    /// The path does not belong to the API. The server may answer it in another way.
    case unknown
}

/// An answer, or the work that leads to it, once the origin has understood the path and the query.
package enum PreparedAnswer: Sendable {
    case ready(OriginAnswer)
    /// A delta, a list or an archive. The first request for one makes it, which may take long. A
    /// server does this work where it holds up no other answer.
    case making(@Sendable () throws(BundleError) -> OriginAnswer)

    /// Does the work, if there is any. Reads bundles.
    ///
    /// - Throws: `BundleError` if a bundle can no longer be read.
    package func answer() throws(BundleError) -> OriginAnswer {
        switch self {
        case .ready(let answer): answer
        case .making(let make): try make()
        }
    }
}

/// What an answer is about, for the counts. The set of values is bounded.
package enum OriginRoute: String, Hashable, Sendable, CaseIterable {
    case root
    case monitor
    case changeset
    case delta
    case chain
    case attachment
    case attachmentsZip = "attachments-zip"
    case bundle
    case health
    case version
    case unknown
}
