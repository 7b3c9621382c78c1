import RemoteSettingsHTTP
import RemoteSettingsModel

/// A server's event stream, read with the service's HTTP transport.
struct EventStreamSource: UpdateSource {
    let session: Session
    /// The URL configured by the app; `nil` for the server's own event stream.
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
