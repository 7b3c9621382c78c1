// Sends one request with the library's transport, using the proxies and certificate authorities of the environment.
//
//     test-process request SERVER SECONDS
//
// Requests the root document of SERVER once, with SECONDS as timeouts. Prints the size of the document, or the error.

#if !canImport(Darwin)
import CurlTransport
import RemoteSettingsHTTP
import RemoteSettingsModel

enum RequestProcess {
    static func run(_ server: String, seconds: Int) async {
        var limits = Limits()
        (limits.tries, limits.headTimeoutSeconds, limits.idleTimeoutSeconds) = (1, seconds, seconds)
        limits.rootDocumentBytes = limits.changesetBytes
        do {
            let client = ServerClient(
                server: try ServerURL(server, allowPlainHTTP: true), transport: CurlTransport(),
                userAgent: UserAgent(name: "tests", version: "1"), limits: limits)
            say("\(try await client.rootDocument().body.count) bytes")
        } catch {
            say("\(error)")
        }
    }
}
#endif
