#if Server
import Dumps

// The reasons why a server cannot start.
extension DumpsError {
    /// The dumps directory has no lock file at this path.
    static func noLock(_ path: String) -> Self {
        Self(file: path, problem: "there is no lock file", remedy: "create one with: rsdump refresh")
    }

    /// The server cannot listen on its address.
    static func address(_ host: String, port: Int, _ problem: String, remedy: String) -> Self {
        Self(problem: "\(host.contains(":") ? "[\(host)]" : host):\(port) \(problem)", remedy: remedy)
    }
}
#endif
