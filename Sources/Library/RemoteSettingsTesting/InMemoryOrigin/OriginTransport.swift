import Foundation
import RemoteSettings
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
import SnapshotOrigin

/// A Remote Settings server in memory. Tests write to its collections, which are signed on each write.
///
/// It needs no network and no other process. The server behaves correctly unless a test changes that: ``inject(_:)``
/// makes it fail, and ``ServerCollection`` can make it send false data.
public final class OriginTransport: HTTPTransport {
    /// A request that the server has answered.
    public struct SeenRequest: Sendable {
        /// The path and query of the request.
        public let path: String
        /// The status code of the response.
        public let status: Int
        /// The size of the response's body in bytes, after truncation by a fault.
        public let bytes: Int
    }

    /// The base URL for version 1 of the API.
    public let url: String
    /// The root that a client must pin.
    public let root = TrustAnchors([TestSigners.shared.root])
    /// The root of a second authority, which signs only if a test requests it.
    public let otherRoot = TrustAnchors([TestSigners.shared.otherRoot])

    let address: OriginAddress
    let state: Mutex<OriginState>
    private let waiting = Mutex<@Sendable (Duration) async throws -> Void>({ try await Task.sleep(for: $0) })

    /// The function that waits for a fault's delay. By default, it uses the system's clock.
    package var wait: @Sendable (Duration) async throws -> Void {
        get { waiting.withLock { $0 } }
        set { waiting.withLock { $0 = newValue } }
    }

    /// Creates a server.
    ///
    /// - Parameter address: the scheme, host and port that clients use.
    public init(address: String = "https://settings.test") throws {
        self.address = try OriginAddress(address)
        url = "\(address)/v1"
        // Timestamps must never be later than the clock, even if a test makes many writes, so they start an hour in the
        // past.
        state = Mutex(OriginState(time: HTTPEnvironment.system.now().advanced(by: .seconds(-3600))))
    }

    /// Creates an empty collection with a new name.
    ///
    /// Only collections in the buckets `main`, `blocklists`, `security-state`, `main-preview` and
    /// `security-state-preview` are signed.
    ///
    /// - Parameters:
    ///   - bucket: the collection's bucket.
    ///   - offersZip: whether the collection's metadata offers a ZIP file of its attachments.
    public func makeCollection(_ bucket: String = "main", offersZip: Bool = false) throws -> ServerCollection {
        let number = state.withLock { state in
            state.made += 1
            return state.made
        }
        // No generated name is a substring of another one, or of the hash in a chain's name, because tests search for
        // names in URLs.
        return try makeCollection(id: "\(bucket)/sample\(100 + number)", offersZip: offersZip)
    }

    /// Returns the collection with this name, `bucket/name`. If it does not exist, an empty one is created.
    public func collection(_ id: String) throws -> ServerCollection {
        let known = try CollectionID(id)
        let isThere = state.withLock { $0.collections[known] != nil }
        return isThere ? ServerCollection(server: self, collection: known) : try makeCollection(id: id)
    }

    /// Creates an empty collection with this name, `bucket/name`.
    package func makeCollection(id: String, offersZip: Bool = false) throws -> ServerCollection {
        let id = try CollectionID(id)
        state.withLock { state in
            state.collections[id] = AuthoredCollection(id: id, timestamp: state.nextTime(), offersZip: offersZip)
        }
        return ServerCollection(server: self, collection: id)
    }

    /// Replaces the faults. The first one that matches a request is used.
    public func inject(_ faults: [Fault]) { state.withLock { $0.faults = faults } }

    /// Makes every request fail, as without a network. With `false`, requests succeed again, and all other faults are
    /// removed too.
    public func setOffline(_ isOffline: Bool) { inject(isOffline ? [Fault(effect: .unreachable)] : []) }

    /// All requests so far.
    public var requests: [SeenRequest] { state.withLock { $0.log } }

    /// Returns the body of the monitor's current changeset. The request is not logged.
    package func monitor() throws -> String {
        let target = "/v1/buckets/monitor/collections/changes/changeset?_expected=0"
        return String(decoding: try reply(to: target, headers: HTTPHeaders()).body, as: UTF8.self)
    }

    /// Answers a client's request.
    ///
    /// - Throws: the error of a fault, and `cancelled` in a cancelled task.
    package func send(_ request: HTTPRequest) async throws(Failure) -> HTTPResponse {
        await Task.yield()
        if Task.isCancelled { throw Failure(request.url, .cancelled) }
        let target = request.url.path + (request.url.query.map { "?" + $0 } ?? "")
        let fault = state.withLock { $0.nextFault(target) }
        if let delay = fault?.delay {
            do { try await wait(delay) } catch { throw Failure(request.url, .cancelled) }
        }
        if case .unreachable = fault?.effect.kind {
            throw Failure(request.url, .unreachable("this test is offline"))
        }
        var reply: Reply
        do {
            reply = try fault?.ownReply(to: request.url) ?? self.reply(to: target, headers: request.headers)
        } catch {
            reply = Reply(status: 500, body: Array("\(error)".utf8))
        }
        for field in fault?.headers ?? [] { reply.headers.add(field.name, field.value) }
        let body = ReplyBody(reply.body, of: request.url, fault)
        let seen = SeenRequest(path: target, status: reply.status, bytes: body.size)
        state.withLock { $0.log.append(seen) }
        return HTTPResponse(status: reply.status, headers: reply.headers, body: body)
    }

    /// A complete response.
    package struct Reply: Sendable {
        package var status: Int
        package var headers = HTTPHeaders()
        package var body: [UInt8] = []
    }

    /// Returns the server's response without faults.
    package func reply(to target: String, headers: HTTPHeaders) throws -> Reply {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let (path, query) = (parts[0], parts.count > 1 ? parts[1] : nil)
        if let chain = TestSigners.shared.chain(at: path) { return Reply(status: 200, body: chain.array) }
        if path.hasPrefix("/attachments/bundles/") {
            guard let zip = state.withLock({ $0.zip(at: path) }) else { return Reply(status: 404) }
            return Reply(status: 200, body: zip)
        }
        let origin = try state.withLock { try $0.currentOrigin(address) }
        let prepared = try origin.prepare(path: path, query: query, now: HTTPEnvironment.system.now())
        return try Self.reply(prepared.answer(), APIVersion(path: path), headers)
    }

    private static func reply(_ answer: OriginAnswer, _ version: APIVersion?, _ headers: HTTPHeaders) throws -> Reply {
        switch answer {
        case .resource(let resource):
            let tag = "\"\(resource.tag)\""
            let body = try bytes(resource.content)
            let fields = [HTTPHeaders.Field("Content-Type", resource.contentType), .init("ETag", tag)]
            var reply = Reply(status: 200, headers: HTTPHeaders(fields), body: body)
            if let start = rangeStart(headers["Range"]), start < body.count, headers["If-Range"] ?? tag == tag {
                reply.status = 206
                reply.headers.add("Content-Range", "bytes \(start)-\(body.count - 1)/\(body.count)")
                reply.body.removeFirst(start)
            }
            reply.headers.add("Content-Length", "\(reply.body.count)")
            return reply
        case .redirect(let url, _): return Reply(status: 307, headers: HTTPHeaders([.init("Location", url)]))
        case .noContent: return Reply(status: 204)
        case .problem(let problem, _): return Reply(status: problem.status, body: problem.body(version).array)
        case .unknown: return Reply(status: 404)
        }
    }

    private static func bytes(_ content: OriginContent) throws -> [UInt8] {
        let pieces = try content.pieces()
        var bytes: [UInt8] = []
        while let piece = try pieces.next() { bytes += piece.array }
        return bytes
    }

    /// Returns the start of a range that extends to the last byte of a file; `nil` for any other range.
    private static func rangeStart(_ field: String?) -> Int? {
        guard let field, field.hasPrefix("bytes="), field.hasSuffix("-") else { return nil }
        return Int(field.dropFirst("bytes=".count).dropLast())
    }
}

extension OriginTransport {
    /// A configuration for an app that uses this server. It has the server's URL and root, this object as the network,
    /// and no update channel.
    ///
    /// Waits between two attempts of a request take at most two milliseconds. No other wait is shortened.
    public var config: RemoteSettingsConfig {
        var config = RemoteSettingsConfig(server: .custom(url: url), trustRoots: root)
        config.updates = .off
        config.transport = self
        config.environment.pause = { try await Task.sleep(for: min($0, .milliseconds(2))) }
        return config
    }

    /// Packages collections in their current state, as if they were embedded in the app.
    ///
    /// - Throws: an error if one of them was deleted.
    public func packaged(_ collections: ServerCollection...) throws -> PackagedSource {
        var bundles: [String: Bytes] = [:]
        var lock = LockFile()
        for collection in collections {
            let packed = try state.withLock { try $0.collections[collection.collection]?.packed(at: address) }
            guard let packed else {
                throw RemoteSettingsError.other(
                    reason: "\(collection.id): the collection was deleted; create it again with create()")
            }
            bundles[collection.id] = packed.bytes
            lock.collections[collection.collection] = packed.lock
        }
        return .embedded(lock: Bytes(lock.text), bundles: bundles, name: "packaged in this test")
    }
}
