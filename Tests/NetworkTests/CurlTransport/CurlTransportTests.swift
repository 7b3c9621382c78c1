import CurlTransport
import FaultyServer
import Foundation
@testable import RemoteSettingsHTTP
import RemoteSettingsModel
import Testing

@Suite("What libcurl is told") struct CurlTransportTests {
    let server: FaultyServer

    init() throws { server = try FaultyServer() }

    @Test func nothingIsSentOfItsOwn() async throws {
        let fields = [HTTPHeaders.Field("X-Empty", ""), .init("X-One", "1"), .init("Accept", "text/plain")]
        for headers in [HTTPHeaders(), HTTPHeaders(fields)] {
            let request = try server.request("ok/a/%2e%2e/b?c", headers: headers)
            #expect(try await server.transport.send(request).status == 200)
        }
        let seen = server.requests.map(\.headers)
        let host = "127.0.0.1:\(server.port)"
        #expect(seen == [["host": host], ["host": host, "x-empty": "", "x-one": "1", "accept": "text/plain"]])
    }

    @Test func cookiesAreNotKept() async throws {
        let answer = "HTTP/1.1 200 OK\r\nSet-Cookie: a=b; Path=/\r\nContent-Length: 2\r\n\r\nhi"
        let client = try server.client(server.raw(answer))
        for _ in 0..<2 { #expect(try await client.rootDocument().body.text == "hi") }
        #expect(server.requests.allSatisfy { $0.headers["cookie"] == nil })
    }

    @Test func interimAnswersAndTrailersAreNotTheAnswer() async throws {
        let answer = """
            HTTP/1.1 103 Early Hints\r\nLink: <a>\r\nAlert: early\r\n\r\nHTTP/1.1 200 OK\r
            Transfer-Encoding: chunked\r\nAlert: one\r\n\r\n2\r\nhi\r\n0\r\nX-Trailer: 1\r\n\r\n
            """
        let response = try await server.transport.send(server.request(server.raw(answer)))
        var body = response.body
        #expect(response.status == 200)
        #expect(response.headers.fields == [.init("Transfer-Encoding", " chunked"), .init("Alert", " one")])
        #expect(try await body.next() == Array("hi".utf8))
        #expect(try await body.next() == nil)
    }

    @Test func waitingBlocksNoTask() async throws {
        let server = try FaultyServer(transport: CurlTransport(connectionsPerHost: 64))
        let silent = try server.client("silent", limits: oneTry())
        let tasks = (0..<64).map { _ in Task { try await silent.rootDocument() } }
        while silent.metrics.requests < 64 { try? await Task.sleep(for: .milliseconds(1)) }
        let other = try FaultyServer(transport: CurlTransport())
        #expect(try await other.client("ok").rootDocument().body == Bytes(document))
        for task in tasks { task.cancel() }
        for task in tasks { #expect(await reason { try await task.value } == .cancelled) }
        // Canceled requests occupy no connection.
        #expect(try await server.client("ok").rootDocument().body == Bytes(document))
    }

    @Test func cancelledBeforeItBegins() async throws {
        let client = try server.client("ok")
        let task = Task {
            while !Task.isCancelled { try? await Task.sleep(for: .milliseconds(1)) }
            return try await client.rootDocument()
        }
        task.cancel()
        #expect(await reason { try await task.value } == .cancelled)
    }

    @Test func bodyOutlivesTheTransport() async throws {
        var transport: CurlTransport? = CurlTransport()
        var body = try #require(try await transport?.send(server.request("endless")).body)
        transport = nil
        var read = 0
        while read < 4 << 20 { read += try #require(try await body.next()).count }
    }
}
