@testable import RemoteSettingsHTTP
import RemoteSettingsModel
import Testing

/// The example transport from the documentation of ``HTTPTransport``, verbatim.
struct TableTransport: HTTPTransport {
    var documents: [String: [UInt8]]

    func send(_ request: HTTPRequest) async throws(Failure) -> HTTPResponse {
        guard let bytes = documents[request.url.description] else {
            return HTTPResponse(status: 404, headers: HTTPHeaders(), body: Pieces(left: []))
        }
        let headers = HTTPHeaders([.init("Content-Length", String(bytes.count))])
        return HTTPResponse(status: 200, headers: headers, body: Pieces(left: [bytes]))
    }

    struct Pieces: HTTPBody {
        var left: [[UInt8]]
        mutating func next() async throws(Failure) -> [UInt8]? { left.isEmpty ? nil : left.removeFirst() }
    }
}

@Suite("A client over a table") struct TableTransportTests {
    static func client(_ documents: [String: [UInt8]]) -> ServerClient {
        ServerClient(TableTransport(documents: documents))
    }

    @Test func clientReadsDocumentsOfItsTransport() async throws {
        let client = Self.client(["https://firefox.settings.services.mozilla.com/v2/": [1, 2, 3]])
        #expect(try await client.rootDocument().body.array == [1, 2, 3])
        await #expect(throws: Failure.self) { try await client.monitor() }
    }

    @Test(arguments: ["../chains/a.pem", "/chains/a.pem", "https://firefox.settings.services.mozilla.com/chains/a.pem"])
    func chainMayBeRelative(_ x5u: String) async throws {
        let client = Self.client(["https://firefox.settings.services.mozilla.com/chains/a.pem": [7]])
        #expect(try await client.chain(x5u: x5u).body.array == [7])
    }

    @Test(arguments: ["http://example.org/a.pem", "http://localhost/a.pem"])
    func chainIsNotRequestedOverPlainHTTP(_ x5u: String) async throws {
        let client = Self.client([:])
        let error = await #expect(throws: Failure.self) { try await client.chain(x5u: x5u) }
        #expect(error == Failure(x5u, .insecure))
        #expect(client.metrics.requests == 0)
    }
}
