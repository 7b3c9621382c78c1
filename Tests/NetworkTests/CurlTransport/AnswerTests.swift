import FaultyServer
import RemoteSettingsModel
import Testing

@testable import RemoteSettingsHTTP

@Suite("Statuses, redirects and holds over a real connection") struct AnswerTests {
    let server: FaultyServer
    let collection: CollectionID
    let since = Timestamp(milliseconds: 1_700_000_000_000)

    init() throws {
        server = try FaultyServer()
        collection = try CollectionID("main/markets")
    }

    @Test func requestsAreThoseOfTheProtocol() async throws {
        var limits = FaultyServer.limits
        limits.chainBytes = document.count
        let client = try server.client("ok", limits: limits)
        _ = try await client.monitor()
        _ = try await client.monitor(expected: Timestamp(milliseconds: 5), since: since)
        _ = try await client.changeset(collection, expected: Timestamp(milliseconds: 9))
        _ = try await client.changeset(collection, since: since)
        _ = try await client.chain(x5u: "chains/a.pem")
        #expect(
            server.requests.map(\.target) == [
                "/ok/v1/buckets/monitor/collections/changes/changeset?_expected=0",
                "/ok/v1/buckets/monitor/collections/changes/changeset?_expected=5&_since=1700000000000",
                "/ok/v1/buckets/main/collections/markets/changeset?_expected=9",
                "/ok/v1/buckets/main/collections/markets/changeset?_expected=0&_since=1700000000000",
                "/ok/v1/chains/a.pem",
            ])
    }

    @Test func noContentMeansNothingNewer() async throws {
        let client = try server.client(server.raw("HTTP/1.1 204 No Content\r\n\r\n"))
        #expect(try await client.changeset(collection, since: since) == .nothing)
    }

    @Test func errorBodyIsShown() async throws {
        let body = #"{"code": 404, "errno": 111, "error": "Not Found", "message": "no such collection"}"#
        let client = try server.client(
            server.raw("HTTP/1.1 404 Not Found\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"))
        let error = await #expect(throws: Failure.self) { try await client.changeset(collection) }
        #expect(error?.reason == .status(404, body: body))
        #expect(client.metrics.requests == 1)
    }

    @Test func longErrorBodyIsCut() async throws {
        let body = "\u{1B}[31m" + String(repeating: "é", count: 2000)
        let client = try server.client(server.raw("HTTP/1.1 400 Bad\r\n\r\n" + body))
        let why = await reason { try await client.rootDocument() }
        let text = try #require(why).description
        #expect(why?.code == .status(400))
        #expect(text.utf8.count <= ServerClient.errorBodyBytes)
        #expect(text.hasPrefix("the server answered 400:  [31mé"), "\(text)")
    }

    @Test func errorDocumentIsShownAsSentence() {
        let body = #"{"code":404,"errno":111,"error":"Not Found","message":"No such collection."}"#
        func text(_ body: String) -> String { "\(Failure.status(404, body: body))" }
        #expect(text(body) == "the server answered 404: No such collection.")
        #expect(text(#"{"error":"Not Found"}"#) == "the server answered 404: Not Found")
        #expect(text(#"{"message":"#) == #"the server answered 404: {"message":"#)
    }

    @Test func quotedSinceIsTriedAfterStatus400() async throws {
        let client = try server.client("quoted")
        let answer = try await client.changeset(collection, since: since)
        guard case .changes(let document, answersSince: true) = answer else { return #expect(Bool(false), "\(answer)") }
        #expect(document.body.text == "delta")
        #expect(server.requests.last?.target.hasSuffix("_since=%221700000000000%22") == true)
        #expect(client.metrics.requests == 2)
    }

    @Test func status400IsNotRetriedWithoutSince() async throws {
        // Without `Connection: close`, the next request might use the closed connection and be retried.
        let client = try server.client(
            server.raw("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"))
        #expect(await reason { try await client.changeset(collection) } == .status(400, body: ""))
        #expect(client.metrics.requests == 1)
        #expect(await reason { try await client.changeset(collection, since: since) } == .status(400, body: ""))
        #expect(client.metrics.requests == 3)
    }

    @Test func redirectThatDropsSinceReplaces() async throws {
        let client = try server.client("drops-since")
        let answer = try await client.changeset(collection, expected: since, since: since)
        guard case .changes(let document, answersSince: false) = answer else {
            return #expect(Bool(false), "\(answer)")
        }
        #expect(document.body.text == "full")
        #expect(document.url.query == "_expected=1700000000000")
        #expect(server.events.all.count == 1)
    }

    @Test func redirectThatKeepsSinceIsADelta() async throws {
        let answer = try await server.client("keeps-since").changeset(collection, since: since)
        guard case .changes(_, answersSince: true) = answer else { return #expect(Bool(false), "\(answer)") }
    }

    @Test func redirectThatChangesSinceIsRefused() async throws {
        let client = try server.client("changes-since")
        let why = await reason { try await client.changeset(collection, since: since) }
        #expect(why?.code == .redirect)
    }

    @Test func relativeRedirectIsFollowed() async throws {
        let client = try server.client("moved")
        let answer = try await client.rootDocument()
        #expect(answer.body == Bytes(document))
        #expect(answer.url.description == server.url("ok") + "/v1/?moved")
    }

    @Test(arguments: ["loop", "circle"]) func redirectLoopIsRefused(fault: String) async throws {
        let client = try server.client(fault)
        #expect(await reason { try await client.rootDocument() } == .redirectLoop)
        #expect(client.metrics.requests <= 3)
    }

    @Test func tooManyRedirectsAreRefused() async throws {
        let client = try server.client("many")
        let limit = ServerClient.redirects
        #expect(await reason { try await client.rootDocument() } == .tooManyRedirects(limit: limit))
        #expect(client.metrics.requests == limit + 1)
    }

    @Test func redirectToPlainHTTPIsRefused() async throws {
        let client = try server.client(server.raw("HTTP/1.1 302 Found\r\nLocation: http://host.invalid/v1/\r\n\r\n"))
        #expect(await reason { try await client.rootDocument() } == .insecure)
    }

    @Test func shortRetryAfterIsWaitedFor() async throws {
        let clock = RecordingClock()
        let client = try server.client("unavailable-1/3", environment: clock.environment(random: 0))
        #expect(try await client.rootDocument().body == Bytes(document))
        #expect(clock.pauses.reduce(Duration.zero, +) == .seconds(3))
    }

    @Test(arguments: ["120", "Sat,%2021%20Nov%202026%2009:02:00%20GMT"])
    func longRetryAfterIsAHold(retryAfter: String) async throws {
        let clock = RecordingClock()
        let environment = clock.environment(random: 0)
        let client = try server.client("unavailable-1/\(retryAfter)", environment: environment)
        let until = clock.now.advanced(by: .seconds(120))
        let error = await #expect(throws: Failure.self) { try await client.rootDocument() }
        #expect(error?.reason == .backoff(until: until, seconds: 120))
        #expect(error?.hold?.seconds == 120)
        // This client and one created with its backoff both honor it without sending a request.
        let next = try server.client("unavailable-1/-", environment: environment, backoff: client.backoff)
        for held in [client, next] {
            #expect(await reason { try await held.monitor() } == .backoff(until: until, seconds: 120))
        }
        #expect(server.requests.count == 1)
        clock.advance(by: .seconds(121))
        #expect(try await next.rootDocument().body == Bytes(document))
    }

    @Test func alertIsShownOnce() async throws {
        let alert = #"{"code": "soft-eol", "message": "use v2", "url": "https://example.org"}"#
        // Without `Connection: close`, the second request might use the closed connection and cause a retry event.
        let client = try server.client(
            server.raw("HTTP/1.1 200 OK\r\nConnection: close\r\nAlert: \(alert)\r\nContent-Length: 2\r\n\r\nhi"))
        _ = try await client.rootDocument()
        let url = try await client.rootDocument().url
        #expect(server.events.all == [.alert(alert, url: url)])
    }
}
