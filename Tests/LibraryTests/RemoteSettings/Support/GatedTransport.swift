import RemoteSettingsHTTP
import RemoteSettingsModel
import RemoteSettingsTesting

/// Holds requests whose URL contains a given string until `open()` is called.
final class GatedTransport: HTTPTransport {
    private let server: OriginTransport
    private let text: String
    private let isOpen = Mutex(false)
    private let count = Mutex(0)

    init(_ server: OriginTransport, holding text: String) {
        self.server = server
        self.text = text
    }

    /// The number of requests that reached the gate.
    var requests: Int { count.withLock { $0 } }

    func open() { isOpen.withLock { $0 = true } }

    func hasHeld() async { while requests == 0 { try? await Task.sleep(for: .milliseconds(1)) } }

    func send(_ request: HTTPRequest) async throws(Failure) -> HTTPResponse {
        if "\(request.url)".contains(text) {
            count.withLock { $0 += 1 }
            while !isOpen.withLock({ $0 }) {
                if Task.isCancelled { throw Failure(request.url, .cancelled) }
                try? await Task.sleep(for: .milliseconds(1))
            }
        }
        return try await server.send(request)
    }
}
