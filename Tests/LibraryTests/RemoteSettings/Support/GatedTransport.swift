import RemoteSettings
import RemoteSettingsHTTP
import RemoteSettingsModel
import RemoteSettingsTesting

/// Holds back the requests whose URL has a text in it, until it is opened.
final class GatedTransport: HTTPTransport {
    private let server: OriginTransport
    private let text: String
    private let isOpen = Atomic(false)
    private let count = Atomic(0)

    init(_ server: OriginTransport, holding text: String) {
        self.server = server
        self.text = text
    }

    /// How many requests came to the gate.
    var requests: Int { count.load(ordering: .relaxed) }

    func open() { isOpen.store(true, ordering: .relaxed) }

    func hasHeld() async { while requests == 0 { await Task.yield() } }

    func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
        if "\(request.url)".contains(text) {
            count.add(1, ordering: .relaxed)
            while !isOpen.load(ordering: .relaxed) {
                if Task.isCancelled { throw HTTPError(request.url, .cancelled) }
                await Task.yield()
            }
        }
        return try await server.send(request)
    }
}
