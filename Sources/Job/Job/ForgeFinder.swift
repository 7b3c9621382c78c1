import RemoteSettingsHTTP
import RemoteSettingsModel

/// The place where a repository's requests are, found by the variables of a CI system, or else by the remote's URL.
package struct ForgeFinder: Sendable {
    /// The variables of this process.
    let variables: [String: String]
    let transport: any HTTPTransport
    let userAgent: UserAgent

    package init(_ variables: [String: String], transport: any HTTPTransport, userAgent: UserAgent) {
        (self.variables, self.transport, self.userAgent) = (variables, transport, userAgent)
    }

    /// Returns the host of a remote; `nil` if it is unknown, or if there is no token for it. Does no I/O.
    ///
    /// The token is in `GH_TOKEN`, `GITHUB_TOKEN` or `GITLAB_TOKEN`.
    package func forge(of remote: String) throws -> (any Forge)? {
        let place = Self.place(of: remote)
        if let token = value("GH_TOKEN") ?? value("GITHUB_TOKEN") {
            if let url = value("GITHUB_API_URL"), let repository = value("GITHUB_REPOSITORY") {
                return try gitHub(url, repository, token)
            }
            if let place, place.host == "github.com" { return try gitHub("https://api.github.com", place.path, token) }
            if let place, let host = value("GH_HOST"), host == place.host {
                return try gitHub("https://\(host)/api/v3", place.path, token)
            }
        }
        guard let token = value("GITLAB_TOKEN") else { return nil }
        if let url = value("CI_API_V4_URL"), let project = value("CI_PROJECT_ID") {
            return try gitLab(url, project, token)
        }
        guard let place, place.host != "github.com" else { return nil }
        return try gitLab("https://\(place.host)/api/v4", place.path, token)
    }

    private func value(_ name: String) -> String? { variables[name].flatMap { $0.isEmpty ? nil : $0 } }

    private func gitHub(_ url: String, _ repository: String, _ token: String) throws -> any Forge {
        let headers: [HTTPHeaders.Field] = [
            .init("Authorization", "Bearer \(token)"), .init("Accept", "application/vnd.github+json"),
            .init("X-GitHub-Api-Version", "2022-11-28"),
        ]
        return GitHub(api: try api("GitHub", "\(url)/repos/\(repository)", headers), repository: repository)
    }

    private func gitLab(_ url: String, _ project: String, _ token: String) throws -> any Forge {
        let headers = [HTTPHeaders.Field("PRIVATE-TOKEN", token)]
        let requests = "\(url)/projects/\(PercentEncoding.component(project))/merge_requests"
        return GitLab(api: try api("GitLab", requests, headers), users: try api("GitLab", "\(url)/users", headers))
    }

    private func api(_ name: String, _ base: String, _ headers: [HTTPHeaders.Field]) throws -> ForgeAPI {
        let server = try ServerURL(HTTPURL(base).origin, allowPlainHTTP: true)
        let client = ServerClient(server: server, transport: transport, userAgent: userAgent, environment: .system)
        return ForgeAPI(name: name, base: base, headers: headers, client: client)
    }

    /// Returns the host and the path in a remote's URL: `https://HOST/PATH.git`, `ssh://git@HOST/PATH` or
    /// `git@HOST:PATH`; `nil` for a file.
    static func place(of remote: String) -> (host: String, path: String)? {
        var rest = remote[...]
        if let scheme = rest.firstRange(of: "://") {
            guard ["https", "http", "ssh"].contains(String(rest[..<scheme.lowerBound])) else { return nil }
            rest = rest[scheme.upperBound...]
        } else if let colon = rest.firstIndex(of: ":"), !rest[..<colon].contains("/") {
            rest.replaceSubrange(colon...colon, with: "/")
        } else {
            return nil
        }
        if let at = rest.firstIndex(of: "@"), !rest[..<at].contains("/") { rest = rest[rest.index(after: at)...] }
        let parts = rest.split(separator: "/", maxSplits: 1)
        guard parts.count == 2, let host = parts[0].split(separator: ":").first else { return nil }
        var path = parts[1]
        while path.hasSuffix("/") { path.removeLast() }
        if path.hasSuffix(".git") { path.removeLast(4) }
        return path.isEmpty ? nil : (host.lowercased(), String(path))
    }
}
