import Foundation
import RemoteSettingsHTTP
import RemoteSettingsModel

/// A loopback server that misbehaves on request. Each test uses its own name.
package struct FaultyServer: Sendable {
    package struct SeenRequest: Sendable {
        /// Path and query, without the test's name.
        package let target: String
        /// Names in lower case.
        package let headers: [String: String]
    }

    /// Long timeouts: if all tests run at once, a task may wait a minute for a processor.
    package static let limits: Limits = {
        var limits = Limits()
        limits.headTimeoutSeconds = 300
        limits.idleTimeoutSeconds = 300
        return limits
    }()

    package let port: Int
    package let transport: any HTTPTransport
    package let events = EventLog()
    private let server: FaultServer
    private let name = "test\(UInt32.random(in: 0 ... .max))"

    /// - Parameter transport: the transport to test.
    package init(transport: any HTTPTransport) throws {
        server = try FaultServer.shared.get()
        port = server.port
        self.transport = transport
        server.observations.withLock { $0[name] = Observations() }
    }

    /// The URL of a fault, without a slash at its end.
    package func url(_ fault: String) -> String { url(fault, at: "http://127.0.0.1:\(port)") }

    /// Returns the same URL at a different address, such as that of a TLS proxy.
    package func url(_ fault: String, at address: String) -> String { "\(address)/\(name)/\(fault)" }

    /// Returns a client whose server applies `fault` to every response. Retries are immediate.
    package func client(
        _ fault: String, limits: Limits = Self.limits, environment: HTTPEnvironment = .system,
        backoff: BackoffState = BackoffState()
    ) throws -> ServerClient {
        ServerClient(
            server: try ServerURL("\(url(fault))/v1"), transport: transport,
            userAgent: UserAgent(name: "tests", version: "1.0"), limits: limits, environment: environment,
            retryPauses: RetryPauses(first: .milliseconds(1), longest: .milliseconds(5)), backoff: backoff,
            onEvent: { [events] in events.add($0) })
    }

    /// Returns the fault that sends exactly these bytes and closes the connection.
    package func raw(_ answer: String) -> String {
        let encoded = Data(answer.utf8).base64EncodedString()
        return "raw/" + encoded.replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
    }

    /// Sets the responses of the fault `lie`, by the number of the request.
    func tell(_ answers: [[Lie.Part]]) {
        server.observations.withLock { $0[name]?.lies = answers }
    }

    package func attachments(_ fault: String, of client: ServerClient) throws -> AttachmentsURL {
        try AttachmentsURL("\(url(fault))/", of: client.server)
    }

    /// All requests so far.
    package var requests: [SeenRequest] { observed.requests }

    /// The number of response bytes that the system has accepted so far.
    package var sentBytes: Int { observed.sentBytes }

    /// The number of connections used by the requests.
    package var connections: Int { observed.connections.count }

    private var observed: Observations { server.observations.withLock { $0[name] ?? Observations() } }
}

package final class EventLog: Sendable {
    private let events = Mutex<[HTTPEvent]>([])

    package var all: [HTTPEvent] { events.withLock { $0 } }

    func add(_ event: HTTPEvent) {
        events.withLock { $0.append(event) }
    }
}

/// The response if there is no fault.
package let document: [UInt8] = {
    let records = (0..<4000).map { number in
        "{\"id\": \"record-\(number)\", \"text\": \"\(String(repeating: "x", count: number % 50))\"}"
    }
    return Array("{\"data\": [\(records.joined(separator: ", "))]}".utf8)
}()

/// The server's attachment.
package let file: [UInt8] = (0..<200_000).map { UInt8(($0 * 7 + $0 / 251) % 256) }
