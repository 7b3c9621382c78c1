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

/// What an answer is about, for the counts. The set of values is bounded.
package enum OriginRoute: String, Hashable, Sendable, CaseIterable {
    case root
    case monitor
    case changeset
    case delta
    case records
    case chain
    case attachment
    case attachmentsZip = "attachments-zip"
    case bundle
    case health
    case version
    case unknown
}
