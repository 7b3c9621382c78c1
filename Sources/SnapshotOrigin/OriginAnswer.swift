import RemoteSettingsModel

/// What an origin answers to a request, as values: who serves it makes HTTP of it.
public enum OriginAnswer: Sendable {
    case resource(OriginResource)
    /// 307 to another URL of the same origin.
    case redirect(String, OriginRoute)
    /// 204: nothing can be newer than what the client has.
    case noContent(OriginRoute)
    case problem(OriginProblem, OriginRoute)
    /// The path is none of the API's: others may answer it.
    case unknown
}
