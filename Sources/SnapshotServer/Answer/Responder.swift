import HTTPTypes
import Hummingbird
import NIOCore
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
import SnapshotOrigin
import SnapshotPage

/// Answers requests: from the origin, or else from the page for people. It reads bundles and does no other I/O.
struct Responder: HTTPResponder {
    /// What is known about a request apart from its head.
    struct Context: InitializableFromSource {
        /// Whether the client is on this machine.
        let isLoopback: Bool

        init(source: ApplicationRequestContextSource) {
            isLoopback = source.channel.remoteAddress?.isLoopback ?? false
        }
    }

    let state: StateBox
    let metrics: Metrics
    let pages: ServedPages
    let demo: DemoControl?
    let limits: ServerLimits
    /// The time of day.
    let now: @Sendable () -> Timestamp
    let logsRequests: Bool
    let report: @Sendable (String) -> Void

    private typealias Answer = (route: ServerRoute, response: Response)

    func respond(to request: Request, context: Context) async -> Response {
        let target = RequestTarget(request.head.path ?? "/")
        var (route, response) = await answer(request, target, context)
        // If a bundle was shortened, the bytes just read from it may be zeros.
        if state.isDamaged { (route, response) = notReady() }
        if request.method == .head { response = response.createHeadResponse() }
        let length = response.body.contentLength ?? 0
        metrics.answered(route, status: response.status.code, bytes: length)
        if logsRequests {
            report("\(request.method.rawValue) \(request.head.path ?? "") \(response.status.code) \(length)")
        }
        return response
    }

    private func answer(_ request: Request, _ target: RequestTarget, _ context: Context) async -> Answer {
        guard [.get, .head, .post].contains(request.method) else { return problem(.methodNotAllowed) }
        guard let state = state.current else { return notReady() }
        if request.method == .post {
            guard target.path == "/demo/publish", let demo else { return problem(.methodNotAllowed) }
            return (.page, await demo.answer(request, isLoopback: context.isLoopback, now: now()))
        }
        if target.path == "/metrics" {
            let headers: HTTPFields = [
                .contentType: "text/plain; version=0.0.4; charset=utf-8", .cacheControl: "no-store",
            ]
            let text = ByteBuffer(string: metrics.text(state))
            return (.metrics, Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: text)))
        }
        if target.isForEventStream {
            // The connection's guard answers GET.
            var headers = HTTPFields()
            for (name, value) in EventStreamHandler.headers {
                if let name = HTTPField.Name(name) { headers[name] = value }
            }
            return (.updates, Response(status: .ok, headers: headers))
        }
        if let answer = await api(state, request, target) { return answer }
        let page = await slowly(forPeople: true) {
            await pages.answer(
                state, target, acceptsHTML: request.headers.accepts("text/html"), now: now())
        }
        guard let page else { return problem(.notFound, variesByAccept: true) }
        guard let response = pageResponse(page) else { return notReady() }
        return (.page, response)
    }

    /// - Returns: `nil` if the path does not belong to the API.
    private func api(_ state: ServedState, _ request: Request, _ target: RequestTarget) async -> Answer? {
        let prepared: PreparedAnswer
        do {
            prepared = try state.origin.prepare(path: target.path, query: target.query, now: now())
        } catch {
            report("\(error)")
            return problem(.failed)
        }
        guard case .making = prepared else { return answer(request, prepared, of: state) }
        return await slowly { answer(request, prepared, of: state) }
    }

    private func answer(_ request: Request, _ prepared: PreparedAnswer, of state: ServedState) -> Answer? {
        do throws(BundleError) {
            switch try prepared.answer() {
            case .unknown: return nil
            case .resource(let resource):
                return (.origin(resource.route), try response(state.responses, resource, request))
            case .problem(let found, let route): return problem(found, route)
            case .redirect(let url, let route):
                var headers = HTTPFields.api(.seconds(60))
                headers[.location] = url
                return (.origin(route), Response(status: .temporaryRedirect, headers: headers))
            case .noContent(let route):
                return (.origin(route), Response(status: .noContent, headers: .api(.seconds(60))))
            }
        } catch {
            report("\(error)")
            return problem(.failed)
        }
    }

    private func response(
        _ responses: ResponseCache, _ resource: OriginResource, _ request: Request
    ) throws(BundleError) -> Response {
        let range = resource.allowsRanges ? request.headers[.range] : nil
        var chosen: ResponseCache.Representation?
        if range == nil, resource.hasGzip, request.headers.acceptsGzip {
            chosen = try responses.representation(of: resource, isGzip: true)
        }
        if chosen == nil { chosen = try responses.representation(of: resource, isGzip: false) }
        guard let chosen else { return problem(.failed).response }
        if request.headers.isNotModified(tag: chosen.tag, lastModified: resource.lastModified) {
            var headers = chosen.response.headers
            for name in [.contentType, .contentLength, .contentEncoding] as [HTTPField.Name] { headers[name] = nil }
            return Response(status: .notModified, headers: headers)
        }
        guard let range, request.method == .get,
            request.headers.allowsRange(tag: chosen.tag, lastModified: resource.lastModified)
        else { return chosen.response }
        let size = chosen.content.count
        switch ByteRange(range, size: size) {
        case .whole: return chosen.response
        case .part(let part):
            var headers = chosen.response.headers
            headers[.contentLength] = "\(part.count)"
            headers[.contentRange] = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(size)"
            return Response(status: .partialContent, headers: headers, body: chosen.body(part, limits))
        case .unsatisfiable:
            var headers = HTTPFields.api(.none)
            headers[.contentRange] = "bytes */\(size)"
            return Response(status: .rangeNotSatisfiable, headers: headers)
        }
    }

    private func problem(
        _ problem: OriginProblem, _ route: OriginRoute = .unknown, variesByAccept: Bool = false
    ) -> Answer {
        var headers = HTTPFields.api(problem.code == 404 ? .seconds(60) : .none)
        headers[.contentType] = "application/json"
        if variesByAccept { headers[.vary] = "Accept" }
        if problem.code == 405 { headers[.allow] = "GET, HEAD" }
        let body = ResponseBody(byteBuffer: ByteBuffer(bytes: problem.body.array))
        return (.origin(route), Response(status: .init(code: problem.code), headers: headers, body: body))
    }

    /// - Returns: `nil` if clients have not taken too many pages yet.
    private func pageResponse(_ page: PageAnswer) -> Response? {
        guard case .bytes(let bytes) = page.body else { return Response(page, limits, holding: nil) }
        guard let held = pages.untaken.add(bytes.count, limit: limits.pageBytes) else { return nil }
        return Response(page, limits, holding: held)
    }

    /// The answer while the bundles are being read and verified, before there is anything to serve.
    private func notReady() -> Answer {
        var answer = problem(.notReady)
        answer.response.headers[.retryAfter] = "1"
        return answer
    }
}

/// The path and the query of a request, as they were sent.
package struct RequestTarget {
    package let path: Substring
    package let query: Substring?

    /// - Parameter text: the target in origin form: a path, and a query after a question mark.
    package init(_ text: String) {
        let mark = text.utf8.firstIndex(of: UInt8(ascii: "?"))
        path = text[..<(mark ?? text.endIndex)]
        query = mark.map { text[text.utf8.index(after: $0)...] }
    }

    /// Whether it names the event stream of either version of the API.
    var isForEventStream: Bool { path == "/v1/updates" || path == "/v2/updates" }
}

extension Response {
    /// - Parameter held: kept until the body is sent.
    fileprivate init(_ page: PageAnswer, _ limits: ServerLimits, holding held: (any Sendable)?) {
        let content: OriginContent
        switch page.body {
        case .bytes(let bytes): content = .segments([bytes])
        case .attachment(let digest, let bundle, _):
            // The page has just looked up the file.
            content = (try? OriginContent(digest, of: bundle)) ?? .segments([])
        }
        var headers = HTTPFields()
        for header in page.headers { if let name = HTTPField.Name(header.name) { headers[name] = header.value } }
        self.init(
            status: .init(code: page.status), headers: headers,
            body: content.body(0..<content.count, limits, holding: held))
    }
}

extension SocketAddress {
    fileprivate var isLoopback: Bool {
        guard let text = ipAddress else { return false }
        return text == "::1" || text.hasPrefix("127.") || text.hasPrefix("::ffff:127.")
    }
}
