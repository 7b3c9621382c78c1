import RemoteSettingsHTTP
import RemoteSettingsModel

/// A server's event stream over the service's transport.
struct EventStreamSource: UpdateSource {
    let session: Session
    /// The URL that the app has configured; `nil` for the server's own stream.
    let url: String?

    func connect() async throws(UpdateSourceError) -> any UpdateConnection {
        let client: ServerClient
        do throws(RemoteSettingsError) {
            client = try session.startingRun()
        } catch {
            throw UpdateSourceError(.unsupported, "\(error)")
        }
        defer { session.keepBackoff(client) }
        do throws(HTTPError) {
            let url = if let url { try HTTPURL(url) } else { nil as HTTPURL? }
            return Connection(stream: try await client.updates(at: url))
        } catch {
            throw UpdateSourceError(error)
        }
    }

    private struct Connection: UpdateConnection {
        var stream: UpdateStream

        mutating func next() async throws(UpdateSourceError) -> UpdateMessage? {
            do throws(HTTPError) {
                return try await stream.next()
            } catch {
                throw UpdateSourceError(error)
            }
        }
    }
}

extension UpdateSourceError {
    fileprivate init(_ error: HTTPError) {
        let kind: Kind =
            switch error.reason {
            case .backoff(_, let seconds): .notBefore(seconds: seconds)
            case .status(204, _), .status(404, _), .status(405, _), .status(406, _), .status(410, _), .status(501, _),
                .invalidURL, .insecure, .notAnEventStream:
                .unsupported
            default: .failed
            }
        self.init(kind, "\(error)")
    }
}
