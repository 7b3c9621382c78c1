import Foundation
import RemoteSettings

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The test server of `Tests/Servers/kinto`, one for all tests; it ends with this process.
struct KintoServer: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    struct SeenRequest: Decodable {
        let path: String
        let status: Int
        let bytes: Int
    }

    static let shared = Result { try KintoServer() }

    let data: URL
    let url: String
    let root: TrustAnchors
    let otherRoot: TrustAnchors
    /// The server runs as long as this is open.
    private let lifeline: Pipe

    static var repository: URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
    }

    private init() throws {
        data = FileManager.default.temporaryDirectory.appending(path: "rs-kinto-\(UUID().uuidString)")
        let python = Self.repository.appending(path: ".cache/venv/bin/python")
        guard FileManager.default.isExecutableFile(atPath: python.path) else {
            throw Failure(description: "\(python.path) is missing: run scripts/setup")
        }
        let process = Process()
        let (input, output) = (Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        // The pipe to its standard input ends with this process, and the server with the pipe.
        let script = """
            "$1" "$2" start --data "$3" && cat >/dev/null; "$1" "$2" stop --data "$3"; rm -rf "$3"
            """
        process.arguments = [
            "-c", script, "sh", python.path, Self.repository.appending(path: "Tests/Servers/kinto/server.py").path,
            data.path,
        ]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        url = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard url.hasPrefix("http://127.0.0.1:") else { throw Failure(description: "no server: \(text)") }
        lifeline = input
        root = try TrustAnchors(parsing: [Self.text(data, "pki/root.sha256")])
        otherRoot = try TrustAnchors(parsing: [Self.text(data, "pki/otherroot.sha256")])
    }

    private static func text(_ directory: URL, _ name: String) throws -> String {
        try String(contentsOf: directory.appending(path: name), encoding: .utf8)
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    @discardableResult
    func send(_ method: String, _ path: String, _ body: Any? = nil) async throws -> Any {
        try await request(method, url + path, body)
    }

    @discardableResult
    func control(_ method: String, _ action: String, _ body: Any) async throws -> Any {
        try await request(method, "\(url.dropLast(3))/__control__/\(action)", body)
    }

    private func request(_ method: String, _ url: String, _ body: Any?) async throws -> Any {
        guard let target = URL(string: url) else { throw Failure(description: url) }
        var request = URLRequest(url: target)
        request.httpMethod = method
        request.setValue("Basic YWRtaW46c2VjcmV0", forHTTPHeaderField: "Authorization")
        if let body {
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
            request.httpBody = try JSONSerialization.data(withJSONObject: body, options: .fragmentsAllowed)
        }
        let (data, response) = try await URLSession.shared.data(for: request)
        guard let status = (response as? HTTPURLResponse)?.statusCode, (200...299).contains(status) else {
            throw Failure(description: "\(method) \(url): \(response) \(String(decoding: data, as: UTF8.self))")
        }
        return data.isEmpty ? "" : try JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)
    }

    /// A new collection, in a bucket that anybody may read.
    func makeCollection(_ bucket: String = "main", metadata: [String: Any] = [:]) async throws -> ServerCollection {
        let name = "c\(UInt32.random(in: 0 ... .max))"
        let everyone = ["system.Everyone"]
        try await send("PUT", "/buckets/\(bucket)", ["permissions": ["read": everyone, "write": everyone]])
        try await send("PUT", "/buckets/\(bucket)/collections/\(name)", ["data": metadata])
        return ServerCollection(server: self, bucket: bucket, name: name)
    }

    func faults(_ rules: [[String: Any]]) async throws { try await control("PUT", "faults", rules) }
    func protocolSettings(_ settings: [String: Any]) async throws { try await control("PUT", "protocol", settings) }

    /// The end of the request log now, for ``requests(since:)``.
    func logPosition() throws -> Int { try Data(contentsOf: data.appending(path: "requests.jsonl")).count }

    /// What was asked since, up to now.
    func requests(since position: Int) throws -> [SeenRequest] {
        let log = try Data(contentsOf: data.appending(path: "requests.jsonl")).dropFirst(position)
        return try log.split(separator: UInt8(ascii: "\n")).map { try JSONDecoder().decode(SeenRequest.self, from: $0) }
    }
}

/// A collection on the test server.
struct ServerCollection: Sendable {
    let server: KintoServer
    let bucket: String
    let name: String

    var id: String { "\(bucket)/\(name)" }
    private var path: String { "/buckets/\(bucket)/collections/\(name)" }

    func put(_ record: String, _ fields: [String: Any] = [:]) async throws {
        try await server.send("PUT", "\(path)/records/\(record)", ["data": fields])
    }

    func delete(_ record: String) async throws { try await server.send("DELETE", "\(path)/records/\(record)") }
    func deleteAll() async throws { try await server.send("DELETE", "\(path)/records") }
    func deleteCollection() async throws { try await server.send("DELETE", path) }
    func create() async throws { try await server.send("PUT", path, ["data": [String: Any]()]) }
    func signAgain() async throws { try await server.control("POST", "sign", ["collections": [id]]) }
    func forget() async throws { try await server.control("POST", "forget", ["collection": id]) }
    func buildZip(omit: [String] = [], corrupt: [String] = []) async throws {
        try await server.control("POST", "zip", ["collection": id, "omit": omit, "corrupt": corrupt])
    }

    func sign(_ specifications: [[String: Any]], single: Bool = false) async throws {
        try await server.control(
            "PUT", "signing", ["collection": id, "signatures": specifications, "single": single])
    }

    /// The whole changeset as the server gives it now.
    func changeset() async throws -> [String: Any] {
        try await server.send("GET", "\(path)/changeset?_expected=\(UInt32.random(in: 0 ... .max))") as? [String: Any]
            ?? [:]
    }

    func timestamp() async throws -> UInt64 {
        (try await changeset()["timestamp"] as? NSNumber)?.uint64Value ?? 0
    }

    /// The ids and last changes of the server's records, as ``state(of:)`` gives those of a client.
    func state() async throws -> [String: UInt64] {
        var state: [String: UInt64] = [:]
        for record in try await changeset()["changes"] as? [[String: Any]] ?? [] {
            guard let id = record["id"] as? String else { continue }
            state[id] = (record["last_modified"] as? NSNumber)?.uint64Value
        }
        return state
    }

    /// Uploads an attachment, which makes its record where there is none.
    func attach(_ content: Data, to record: String) async throws {
        let boundary = "x\(UUID().uuidString)"
        var body = Data(
            """
            --\(boundary)\r\nContent-Disposition: form-data; name="attachment"; filename="f.bin"\r\n\
            Content-Type: application/octet-stream\r\n\r\n
            """.utf8)
        body += content + Data("\r\n--\(boundary)--\r\n".utf8)
        guard let url = URL(string: "\(server.url)\(path)/records/\(record)/attachment") else { return }
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.setValue("Basic YWRtaW46c2VjcmV0", forHTTPHeaderField: "Authorization")
        request.setValue("multipart/form-data; boundary=\(boundary)", forHTTPHeaderField: "Content-Type")
        request.httpBody = body
        let (data, response) = try await URLSession.shared.data(for: request)
        guard let status = (response as? HTTPURLResponse)?.statusCode, (200...299).contains(status) else {
            throw KintoServer.Failure(description: "attach: \(String(decoding: data, as: UTF8.self))")
        }
    }
}

/// What a client holds, for comparison with the server's state.
func state(of client: RemoteSettingsClient) -> [String: UInt64]? {
    client.getRecordsMap()?.mapValues(\.lastModified)
}
