import Foundation
import RemoteSettingsHTTP
import RemoteSettingsModel
import Synchronization

/// `FaultyServer.py`, running until this process ends, under a name of the test's own.
public struct FaultyServer: Sendable {
    public struct SeenRequest: Decodable {
        public let target: String
        /// Names in lower case.
        public let headers: [String: String]
    }

    private static let process = Result { try FaultyServerProcess() }

    public let port: Int
    public let transport: any HTTPTransport
    public let events = EventLog()
    private let name = "test\(UInt32.random(in: 0 ... .max))"

    /// - Parameter transport: what is tested.
    public init(transport: any HTTPTransport) throws {
        port = try Self.process.get().port
        self.transport = transport
    }

    /// The URL of a fault, without a slash at its end.
    public func url(_ fault: String) -> String { "http://127.0.0.1:\(port)/\(name)/\(fault)" }

    /// A client whose server answers everything with `fault`. Repetitions come at once.
    public func client(
        _ fault: String, limits: Limits = Limits(), environment: HTTPEnvironment = .system,
        backoff: BackoffState = BackoffState()
    ) throws -> ServerClient {
        ServerClient(
            server: try ServerURL("\(url(fault))/v1"), transport: transport,
            userAgent: UserAgent(name: "tests", version: "1.0"), limits: limits, environment: environment,
            retryPolicy: RetryPolicy(base: .milliseconds(1), longest: .milliseconds(5)), backoff: backoff,
            onEvent: { [events] in events.add($0) })
    }

    /// The fault that answers with these very bytes and closes the connection.
    public func raw(_ answer: String) -> String {
        let encoded = Data(answer.utf8).base64EncodedString()
        return "raw/" + encoded.replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
    }

    public func attachments(_ fault: String, of client: ServerClient) throws -> AttachmentsURL {
        try AttachmentsURL("\(url(fault))/", of: client.server)
    }

    /// What the server has been asked so far.
    public func requests() async throws -> [SeenRequest] {
        try await ask("requests").split(separator: "\n").map {
            try JSONDecoder().decode(SeenRequest.self, from: Data($0.utf8))
        }
    }

    /// How many bytes of its answers the server could give to the system so far.
    public func sentBytes() async throws -> Int {
        Int(try await ask("sent")) ?? 0
    }

    /// How many connections the requests came by.
    public func connections() async throws -> Int {
        Int(try await ask("connections")) ?? 0
    }

    /// Starts a server that speaks TLS.
    ///
    /// - Parameter pem: the path of a file with its certificates and key.
    /// - Returns: the URL of a fault by it, under the host name given.
    public func startTLS(pem: String) async throws -> @Sendable (_ host: String, _ fault: String) -> String {
        let port = try await ask("tls", "?" + pem)
        return { [name] host, fault in "https://\(host):\(port)/\(name)/\(fault)" }
    }

    private func ask(_ question: String, _ query: String = "") async throws -> String {
        let request = HTTPRequest(
            url: try HTTPURL("\(url(question))/\(query)"), headers: HTTPHeaders(), headTimeout: .seconds(30),
            idleTimeout: .seconds(30))
        var body = try await transport.send(request).body
        var answer: [UInt8] = []
        while let piece = try await body.next() { answer += piece }
        return String(decoding: answer, as: UTF8.self)
    }
}

private struct NoPort: Error {
    let printed: String
}

/// The process ends itself when the pipe to its standard input is closed, at the latest with this process.
private final class FaultyServerProcess: Sendable {
    let port: Int
    private let input: Pipe

    init() throws {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "FaultyServer.py")
        let process = Process()
        let output = Pipe()
        input = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", script.path]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        var line = Data()
        while !line.contains(UInt8(ascii: "\n")) {
            let data = output.fileHandleForReading.availableData
            if data.isEmpty { break }
            line.append(data)
        }
        let text = String(decoding: line, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard let port = Int(text) else { throw NoPort(printed: text) }
        self.port = port
    }
}

public final class EventLog: Sendable {
    private let events = Mutex<[HTTPEvent]>([])

    public var all: [HTTPEvent] { events.withLock { $0 } }

    func add(_ event: HTTPEvent) {
        events.withLock { $0.append(event) }
    }
}

/// The same bytes as `DOCUMENT` in `FaultyServer.py`.
public let document: [UInt8] = {
    let records = (0..<4000).map { number in
        "{\"id\": \"record-\(number)\", \"text\": \"\(String(repeating: "x", count: number % 50))\"}"
    }
    return Array("{\"data\": [\(records.joined(separator: ", "))]}".utf8)
}()

/// The same bytes as `FILE` in `FaultyServer.py`.
public let file: [UInt8] = (0..<200_000).map { UInt8(($0 * 7 + $0 / 251) % 256) }
