import RemoteSettingsModel

// The reasons why a server cannot start.
extension Failure {
    /// Returns an error for an address that the server cannot listen on.
    static func address(_ host: String, port: Int, _ problem: String, remedy: String) -> Self {
        Self(problem: "\(host.contains(":") ? "[\(host)]" : host):\(port) \(problem)", remedy: remedy)
    }
}
