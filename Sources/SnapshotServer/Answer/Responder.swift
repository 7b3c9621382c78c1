import NIOCore
import NIOHTTP1
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
import SnapshotOrigin

/// Makes answers of requests. Reads bundles in place; does no other I/O.
struct Responder: Sendable {
    let state: StateBox
    let metrics: Metrics
    let pages: (any PageSource)?
    let limits: ServerLimits
    let kept: KeptBytes
    /// The time of day.
    let now: @Sendable () -> Timestamp
    let logsRequests: Bool
    let report: @Sendable (String) -> Void

    /// What a request's head comes down to.
    struct Target {
        var path: Substring
        var query: Substring?
    }

    enum Step {
        case done(ServerResponse)
        /// It takes longer: not on the thread that serves other connections.
        case later(@Sendable () async -> ServerResponse)
    }

    /// - Parameter isLoopback: whether the client is on this machine.
    func answer(_ head: HTTPRequestHead, _ target: Target, isLoopback: () -> Bool) -> Step {
        let isHead = head.method == .HEAD
        if head.method == .GET || isHead {
            if target.path == "/metrics" {
                let body = Bytes(utf8: metrics.text(state.current))
                return .done(page(200, "text/plain; version=0.0.4; charset=utf-8", body, isHead, .metrics))
            }
            if isSlow(target) {
                let headers = head.headers
                return .later { api(headers, target, isHead: isHead) ?? problem(.notFound, .unknown, isHead) }
            }
            if let response = api(head.headers, target, isHead: isHead) { return .done(response) }
        } else if head.method != .POST {
            return .done(problem(.methodNotAllowed, .unknown, isHead))
        }
        guard let pages else {
            return .done(problem(head.method == .POST ? .methodNotAllowed : .notFound, .unknown, isHead))
        }
        let request = PageRequest(
            method: head.method.rawValue, path: String(target.path), query: String(target.query ?? ""),
            isLoopback: isLoopback(),
            host: head.headers.first(name: "host") ?? "", origin: head.headers.first(name: "origin"),
            acceptsHTML: head.headers.accepts("text/html"), state: state.current, now: now())
        return .later {
            let answer = await withTaskExecutorPreference(PageExecutor.shared) { await pages.answer(request) }
            if let answer { return page(answer, isHead) }
            if request.method == "POST" { return problem(.methodNotAllowed, .unknown, isHead) }
            return problem(.notFound, .unknown, isHead, variesByAccept: true)
        }
    }

    /// Deltas and archives are made when they are first asked for.
    private func isSlow(_ target: Target) -> Bool {
        // What is percent-encoded may be one of them.
        if [target.path, target.query ?? ""].contains(where: { $0.utf8.contains(UInt8(ascii: "%")) }) { return true }
        if target.path.hasPrefix("/attachments/bundles/") { return true }
        guard let query = target.query?.utf8 else { return false }
        return query.indices.contains { query[$0...].starts(with: "_since".utf8) }
    }

    /// - Returns: `nil` where the path is not the API's.
    private func api(_ headers: NIOHTTP1.HTTPHeaders, _ target: Target, isHead: Bool) -> ServerResponse? {
        let origin = state.current.origin
        do throws(BundleError) {
            switch try origin.answer(path: target.path, query: target.query, now: now()) {
            case .unknown: return nil
            case .resource(let resource): return self.resource(resource, headers, isHead: isHead)
            case .problem(let problem, let route): return self.problem(problem, route, isHead)
            case .redirect(let url, let route):
                var head = ResponseHead(307)
                head.add("Location", url)
                head.add("Content-Length", "0")
                return empty(307, route, head, .seconds(60))
            case .noContent(let route): return empty(204, route, ResponseHead(204), .seconds(60))
            }
        } catch {
            report("\(error)")
            return problem(.failed, .unknown, isHead)
        }
    }

    private func resource(
        _ resource: OriginResource, _ headers: NIOHTTP1.HTTPHeaders, isHead: Bool
    ) -> ServerResponse {
        let prepared = resource.preparation(limits, kept)
        let range = prepared.allowsRanges ? headers.first(name: "range") : nil
        let chosen =
            if range == nil, let gzip = prepared.gzip, headers.acceptsGzip { gzip } else { prepared.identity }
        if headers.isNotModified(tag: chosen.tag, lastModified: resource.lastModified) {
            var head = ResponseHead(304)
            head.add("ETag", chosen.tag)
            head.append(prepared.lines)
            return ServerResponse(
                status: 304, route: .origin(resource.route), head: head.buffer, body: .none, length: 0)
        }
        if let range, !isHead, headers.allowsRange(tag: chosen.tag, lastModified: resource.lastModified) {
            switch ByteRange(range, size: chosen.length) {
            case .whole: break
            case .part(let part): return partial(resource, prepared, part)
            case .unsatisfiable:
                var head = ResponseHead(416)
                head.add("Content-Range", "bytes */\(chosen.length)")
                head.add("Content-Length", "0")
                return empty(416, resource.route, head, .none)
            }
        }
        let response = ServerResponse(
            status: 200, route: .origin(resource.route), head: chosen.head, body: .none, length: chosen.length)
        if isHead { return response.withoutBody() }
        return with(chosen, response)
    }

    private func with(
        _ chosen: PreparedResource.Representation, _ response: ServerResponse
    ) -> ServerResponse {
        var response = response
        if let buffers = chosen.buffers {
            response.body = .buffers(buffers)
        } else {
            response.body = .pieces(chosen.content, 0..<chosen.length)
        }
        return response
    }

    private func partial(
        _ resource: OriginResource, _ prepared: PreparedResource, _ part: Range<Int>
    ) -> ServerResponse {
        var head = ResponseHead(206)
        head.add("Content-Type", resource.contentType)
        head.add("Content-Length", "\(part.count)")
        head.add("Content-Range", "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(prepared.identity.length)")
        head.add("ETag", prepared.identity.tag)
        head.append(prepared.lines)
        return ServerResponse(
            status: 206, route: .origin(resource.route), head: head.buffer,
            body: .pieces(prepared.identity.content, part), length: part.count)
    }

    private func empty(
        _ status: Int, _ route: OriginRoute, _ head: ResponseHead, _ freshness: OriginResource.Freshness
    ) -> ServerResponse {
        var lines = ResponseHead.Lines()
        lines.addCommon()
        lines.add(freshness)
        var head = head
        head.append(lines.text)
        return ServerResponse(status: status, route: .origin(route), head: head.buffer, body: .none, length: 0)
    }

    func problem(
        _ problem: OriginProblem, _ route: OriginRoute, _ isHead: Bool, variesByAccept: Bool = false
    ) -> ServerResponse {
        var lines = ResponseHead.Lines()
        lines.addCommon()
        lines.add(problem.code == 404 ? .seconds(60) : .none)
        if variesByAccept { lines.add("Vary", "Accept") }
        if problem.code == 405 { lines.add("Allow", "GET, HEAD") }
        return response(
            problem.code, .origin(route), "application/json", lines.text, .segments([problem.body]), isHead)
    }

    private func page(
        _ status: Int, _ type: String, _ body: Bytes, _ isHead: Bool, _ route: ServerRoute
    ) -> ServerResponse {
        response(status, route, type, "Cache-Control: no-store\r\n", .segments([body]), isHead)
    }

    private func page(_ page: PageResponse, _ isHead: Bool) -> ServerResponse {
        var lines = ResponseHead.Lines()
        for (name, value) in page.headers where (name + value).utf8.allSatisfy({ (0x20...0x7E).contains($0) }) {
            lines.add(name, value)
        }
        return response(page.status, .page, nil, lines.text, page.body, isHead)
    }

    private func response(
        _ status: Int, _ route: ServerRoute, _ type: String?, _ lines: String, _ content: OriginResource.Content,
        _ isHead: Bool
    ) -> ServerResponse {
        var head = ResponseHead(status)
        if let type { head.add("Content-Type", type) }
        head.add("Content-Length", "\(content.count)")
        head.append(lines)
        var response = ServerResponse(
            status: status, route: route, head: head.buffer, body: .none, length: content.count)
        if isHead { return response.withoutBody() }
        response.body = .pieces(content, 0..<content.count)
        return response
    }
}
