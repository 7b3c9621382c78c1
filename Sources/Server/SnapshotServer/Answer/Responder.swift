import HTTPTypes
import Hummingbird
import NIOCore
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
import SnapshotOrigin

/// Responds to requests with the API's resources, or else with the web UI. Reads bundles, and does no other I/O.
struct Responder: HTTPResponder {
    /// Information about a request that is not in its head.
    struct Context: InitializableFromSource {
        let channel: any Channel

        init(source: ApplicationRequestContextSource) { channel = source.channel }

        /// Whether the client is on this machine.
        var isLoopback: Bool { channel.remoteAddress?.isLoopback ?? false }
    }

    let state: StateBox
    let metrics: Metrics
    let pages: ServedPages
    let demo: DemoControl?
    let limits: ServerLimits
    let untaken: UntakenBytes
    /// The current date and time.
    let now: @Sendable () -> Timestamp
    let logsRequests: Bool
    let report: @Sendable (String) -> Void

    private typealias Answer = (route: ServerRoute, response: Response)

    /// A response, or the work that creates it.
    private enum Beginning {
        case ready(Answer)
        case slow(forPeople: Bool = false, () async -> Answer)
    }

    // The memory for the stack frames of this function, and of the functions that it awaits, is kept until the
    // connection is closed. So all fast work is in synchronous functions.
    func respond(to request: Request, context: Context) async -> Response {
        switch begin(request, context) {
        case .ready(let answer): finished(answer, request)
        case .slow(let isForPeople, let work): finished(await slowly(forPeople: isForPeople, work), request)
        }
    }

    private func finished(_ answer: Answer, _ request: Request) -> Response {
        // If a bundle was truncated, the bytes that were just read from it may be zeros.
        var (route, response) = state.isDamaged ? tryAgain(request, .notReady) : answer
        if request.method == .head { response = response.createHeadResponse() }
        let length = response.body.contentLength ?? 0
        metrics.answered(route, status: response.status.code, bytes: length)
        if logsRequests {
            report("\(request.method.rawValue) \(request.head.path ?? "") \(response.status.code) \(length)")
        }
        return response
    }

    private func begin(_ request: Request, _ context: Context) -> Beginning {
        guard [.get, .head, .post].contains(request.method) else { return .ready(problem(request, .methodNotAllowed)) }
        guard let state = state.current else { return .ready(tryAgain(request, .notReady)) }
        let target = RequestTarget(request.head.path ?? "/")
        if request.method == .post {
            guard target.path == "/demo/publish", let demo else { return .ready(problem(request, .methodNotAllowed)) }
            return .slow { (.page, await demo.answer(request, isLoopback: context.isLoopback, now: now())) }
        }
        if target.path == "/metrics" {
            let headers: HTTPFields = [
                .contentType: "text/plain; version=0.0.4; charset=utf-8", .cacheControl: "no-store",
            ]
            let text = ByteBuffer(string: metrics.text(state, untakenBytes: untaken.total))
            return .ready((.metrics, Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: text))))
        }
        if target.isForHeartbeat, !state.problems.isEmpty { return .ready(unhealthy(state)) }
        if target.isForEventStream {
            // `RequestGuard` responds to GET, so only HEAD reaches this code.
            var headers = HTTPFields()
            for (name, value) in EventStreamHandler.headers {
                if let name = HTTPField.Name(name) { headers[name] = value }
            }
            return .ready((.updates, Response(status: .ok, headers: headers)))
        }
        let client = Recipient(channel: context.channel, untaken: untaken, limits: limits)
        let prepared: PreparedAnswer
        do {
            prepared = try state.origin.prepare(
                path: target.path, query: target.query, dictionary: request.headers.dictionary,
                withReceivedMetadata: request.headers.prefersReceivedMetadata, now: now())
        } catch {
            report("\(error)")
            return .ready(problem(request, .failed))
        }
        if case .making = prepared {
            return .slow { answer(request, prepared, of: state, to: client) ?? problem(request, .notFound) }
        }
        if let answer = answer(request, prepared, of: state, to: client) { return .ready(answer) }
        return .slow(forPeople: true) { await page(request, target, of: state, to: client) }
    }

    private func page(
        _ request: Request, _ target: RequestTarget, of state: ServedState, to client: Recipient
    ) async -> Answer {
        let page = await pages.answer(
            state, target, acceptsHTML: request.headers.accepts("text/html"), now: now(),
            isWanted: { client.channel.isActive })
        guard let page else { return problem(request, .notFound, variesByAccept: true) }
        guard let response = Response(page, to: client) else { return tryAgain(request, .busy) }
        return (.page, response)
    }

    /// Returns the response to an API request.
    ///
    /// - Returns: `nil` if the path does not belong to the API.
    private func answer(
        _ request: Request, _ prepared: PreparedAnswer, of state: ServedState, to client: Recipient
    ) -> Answer? {
        do throws(Failure) {
            switch try prepared.answer() {
            case .unknown: return nil
            case .resource(let resource):
                let found = try response(state.responses, resource, request, to: client)
                return found.map { (.origin(resource.route), $0) } ?? tryAgain(request, .busy, resource.route)
            case .problem(let found, let route): return problem(request, found, route)
            case .redirect(let url, let route):
                var headers = HTTPFields.api(.seconds(60))
                headers[.location] = url
                return (.origin(route), Response(status: .temporaryRedirect, headers: headers))
            case .noContent(let route):
                return (.origin(route), Response(status: .noContent, headers: .api(.seconds(60))))
            }
        } catch {
            report("\(error)")
            return problem(request, .failed)
        }
    }

    /// Returns the response with a resource, or with a part of it.
    ///
    /// - Returns: `nil` if too many unsent bytes are in memory.
    private func response(
        _ responses: ResponseCache, _ resource: OriginResource, _ request: Request, to client: Recipient
    ) throws(Failure) -> Response? {
        let range = resource.allowsRanges ? request.headers[.range] : nil
        var chosen: ResponseCache.Representation?
        if range == nil, resource.hasGzip, request.headers.acceptsGzip {
            chosen = try responses.representation(of: resource, isGzip: true)
        }
        if chosen == nil { chosen = try responses.representation(of: resource, isGzip: false) }
        guard let chosen else { return problem(request, .failed).response }
        if request.headers.isNotModified(tag: chosen.tag, lastModified: resource.lastModified) {
            var headers = chosen.headers
            for name in [.contentType, .contentLength, .contentEncoding] as [HTTPField.Name] { headers[name] = nil }
            return Response(status: .notModified, headers: headers)
        }
        guard let range, request.method == .get,
            request.headers.allowsRange(tag: chosen.tag, lastModified: resource.lastModified)
        else { return chosen.response(to: client) }
        let size = chosen.content.count
        switch ByteRange(range, size: size) {
        case .whole: return chosen.response(to: client)
        case .part(let part):
            guard let body = chosen.body(part, to: client) else { return nil }
            var headers = chosen.headers
            headers[.contentLength] = "\(part.count)"
            headers[.contentRange] = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(size)"
            return Response(status: .partialContent, headers: headers, body: body)
        case .unsatisfiable:
            var headers = HTTPFields.api(.none)
            headers[.contentRange] = "bytes */\(size)"
            return Response(status: .rangeNotSatisfiable, headers: headers)
        }
    }

    private func problem(
        _ request: Request, _ problem: OriginProblem, _ route: OriginRoute = .unknown, variesByAccept: Bool = false
    ) -> Answer {
        var headers = HTTPFields.api(problem.status == 404 ? .seconds(60) : .none)
        headers[.contentType] = "application/json"
        if variesByAccept { headers[.vary] = "Accept" }
        if problem.status == 405 { headers[.allow] = "GET, HEAD" }
        let version = APIVersion(path: RequestTarget(request.head.path ?? "/").path)
        let body = ResponseBody(byteBuffer: ByteBuffer(bytes: problem.body(version).array))
        return (.origin(route), Response(status: .init(code: problem.status), headers: headers, body: body))
    }

    /// Returns the response of the heartbeat if collections are not served, or do not match the lock file.
    private func unhealthy(_ state: ServedState) -> Answer {
        let names = state.problems.keys.sorted().map { JSONValue.string("\($0)") }
        let body = JSONText.compact(.members(["snapshots": .bool(false), "damaged": .array(names)]))
        var headers = HTTPFields.api(.none)
        headers[.contentType] = "application/json"
        let response = Response(
            status: .serviceUnavailable, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
        return (.origin(.health), response)
    }

    /// Returns a response with status 503, which asks the client to try again soon.
    private func tryAgain(_ request: Request, _ reason: OriginProblem, _ route: OriginRoute = .unknown) -> Answer {
        var answer = problem(request, reason, route)
        answer.response.headers[.retryAfter] = "1"
        return answer
    }
}

/// The path and the query of a request, as they were sent.
package struct RequestTarget {
    package let path: Substring
    package let query: Substring?

    /// Splits a request target.
    ///
    /// - Parameter text: the target in origin form: a path, and a query after a question mark.
    package init(_ text: String) {
        let mark = text.utf8.firstIndex(of: UInt8(ascii: "?"))
        path = text[..<(mark ?? text.endIndex)]
        query = mark.map { text[text.utf8.index(after: $0)...] }
    }

    /// Whether the target is the check of the served data. `__lbheartbeat__` only shows that the server runs.
    var isForHeartbeat: Bool { ["/__heartbeat__", "/v1/__heartbeat__", "/v2/__heartbeat__"].contains(path) }

    /// Whether the target is the event stream, in either version of the API.
    var isForEventStream: Bool { path == "/v1/updates" || path == "/v2/updates" }
}

extension Response {
    /// Creates the HTTP response for a page of the web UI.
    ///
    /// - Returns: `nil` if too many unsent bytes are in memory.
    fileprivate init?(_ page: PageAnswer, to client: Recipient) {
        let (content, isForOneClient): (OriginContent, Bool)
        switch page.body {
        case .bytes(let bytes): (content, isForOneClient) = (.segments([bytes]), true)
        case .attachment(let digest, let bundle, _):
            // The page has just found the file in the bundle, so this does not fail.
            (content, isForOneClient) = ((try? OriginContent(digest, of: bundle)) ?? .segments([]), false)
        }
        guard let body = content.body(0..<content.count, to: client, isForOneClient: isForOneClient) else { return nil }
        var headers = HTTPFields()
        for header in page.headers { if let name = HTTPField.Name(header.name) { headers[name] = header.value } }
        self.init(status: .init(code: page.status), headers: headers, body: body)
    }
}

extension SocketAddress {
    fileprivate var isLoopback: Bool {
        guard let text = ipAddress else { return false }
        return text == "::1" || text.hasPrefix("127.") || text.hasPrefix("::ffff:127.")
    }
}
