import RemoteSettingsHTTP
import RemoteSettingsModel

/// A server's event stream over the service's transport.
struct EventStreamSource: UpdateSource {
    let session: Session
    /// The URL that the app has configured; `nil` for the server's own stream.
    let url: String?

    func connect() async throws(HTTPError) -> any UpdateConnection {
        let client: ServerClient
        do throws(RemoteSettingsError) {
            client = try session.startingRun()
        } catch {
            throw HTTPError("", .init(.usage, "\(error)"))
        }
        defer { session.keepBackoff(client) }
        let url = if let url { try HTTPURL(url) } else { nil as HTTPURL? }
        return Connection(stream: try await client.updates(at: url))
    }

    private struct Connection: UpdateConnection {
        var stream: UpdateStream

        mutating func next() async throws(HTTPError) -> UpdateMessage? {
            try await stream.next()
        }
    }
}
