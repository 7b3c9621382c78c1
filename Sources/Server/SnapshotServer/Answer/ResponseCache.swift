#if Server
import CMappedFaults
import Dumps
import HTTPTypes
import Hummingbird
import NIOCore
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
import SnapshotOrigin

/// The parts of responses for the resources of one state.
///
/// The first request for a resource makes them, and all later ones share them. So a request copies no body that is
/// kept, and writes no header line except `Date`.
final class ResponseCache: Sendable {
    /// One form of a resource: plain or compressed.
    struct Representation: Sendable {
        /// The headers of the answer to a plain `GET`.
        let headers: HTTPFields
        let content: OriginContent
        /// Whether the content was made for one client, and stays in memory until that client has taken it.
        let isForOneClient: Bool
        /// The body, if it is small enough to be kept.
        let buffer: ByteBuffer?
    }

    private struct Key: Hashable {
        var resource: ObjectIdentifier
        var isGzip: Bool
    }

    private struct Kept {
        var representations: [Key: (resource: OriginResource, made: Representation)] = [:]
        /// The size of all bodies and of all compressed forms together.
        var bytes = 0
    }

    private let limits: ServerLimits
    private let kept = Mutex(Kept())

    init(_ limits: ServerLimits) {
        self.limits = limits
    }

    /// - Returns: `nil` if the resource has no compressed form.
    /// - Throws: `BundleError` if the bundle cannot be read.
    func representation(of resource: OriginResource, isGzip: Bool) throws(BundleError) -> Representation? {
        let key = Key(resource: ObjectIdentifier(resource), isGzip: isGzip)
        if let known = kept.withLock({ $0.representations[key]?.made }) { return known }
        let content: OriginContent
        if isGzip {
            guard let segments = resource.gzip() else { return nil }
            content = .segments(segments)
        } else {
            content = resource.content
        }
        let isSmall = content.count <= (resource.isKept ? limits.keptBodyBytes : UntakenBytes.uncounted)
        let hasRoom = kept.withLock { $0.bytes + content.count <= limits.keptBytes }
        let buffer = isSmall && (hasRoom || !resource.isKept) ? try content.buffer() : nil
        let made = Representation(
            headers: resource.headers(isGzip: isGzip, length: content.count), content: content,
            isForOneClient: !resource.isKept, buffer: buffer)
        guard resource.isKept else { return made }
        return kept.withLock { kept in
            // Two requests may have made it at the same time.
            if let known = kept.representations[key]?.made { return known }
            kept.representations[key] = (resource, made)
            // The resource itself keeps what it has compressed, whatever its size.
            kept.bytes += (buffer?.readableBytes ?? 0) + (isGzip && resource.compresses ? content.count : 0)
            return made
        }
    }
}

/// The client that an answer is for.
struct Recipient: Sendable {
    let channel: any Channel
    let untaken: UntakenBytes
    let limits: ServerLimits

    /// - Returns: `nil` if too many bytes wait for clients.
    func holding(_ bytes: Int) -> UntakenBytes.Part? {
        untaken.add(bytes, for: ConnectionTable.network(channel.remoteAddress))
    }
}

extension ResponseCache.Representation {
    /// The entity tag, with its quotation marks.
    var tag: String { headers[.eTag] ?? "" }

    /// The answer to a plain `GET`; `nil` if too many bytes wait for clients.
    func response(to client: Recipient) -> Response? {
        body(0..<content.count, to: client).map { Response(status: .ok, headers: headers, body: $0) }
    }

    /// - Returns: `nil` if too many bytes wait for clients.
    func body(_ range: Range<Int>, to client: Recipient) -> ResponseBody? {
        if let slice = buffer?.getSlice(at: range.lowerBound, length: range.count) {
            return ResponseBody(byteBuffer: slice)
        }
        return content.body(range, to: client, isForOneClient: isForOneClient)
    }
}

extension OriginResource {
    /// Whether a client may ask for a range of it.
    var allowsRanges: Bool { !isDelta && isFile }

    private var isFile: Bool { [.attachment, .attachmentsZip].contains(route) }

    fileprivate func headers(isGzip: Bool, length: Int) -> HTTPFields {
        var headers: HTTPFields = [.contentType: contentType, .contentLength: "\(length)"]
        if isGzip { headers[.contentEncoding] = "gzip" }
        headers[.eTag] = isGzip ? "\"\(tag)-gzip\"" : "\"\(tag)\""
        headers.append(contentsOf: HTTPFields.api(freshness))
        if let lastModified { headers[.lastModified] = HTTPDate.text(lastModified) }
        if isDelta { headers[.contentEncoding] = "dcz" }
        let dependsOnDictionary = isDelta || useAsDictionary != nil
        var conditions = hasGzip || dependsOnDictionary ? ["Accept-Encoding"] : []
        if dependsOnDictionary { conditions.append("Available-Dictionary") }
        if dependsOnPreference { conditions.append("Prefer") }
        if !conditions.isEmpty { headers[.vary] = conditions.joined(separator: ", ") }
        if let useAsDictionary, let name = HTTPField.Name("Use-As-Dictionary") { headers[name] = useAsDictionary }
        if allowsRanges { headers[.acceptRanges] = "bytes" }
        if isFile {
            // Anybody may have made an attachment. If a browser opens one as a document, nothing in it may run.
            headers[.contentSecurityPolicy] = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
        }
        return headers
    }
}

extension HTTPFields {
    /// The headers of every answer of the API. Scripts of other sites may read it, and browsers must not guess its
    /// type.
    static func api(_ freshness: OriginResource.Freshness) -> HTTPFields {
        [
            .accessControlAllowOrigin: "*",
            .accessControlExposeHeaders: "Backoff, Retry-After, Alert, Content-Length, ETag, Last-Modified",
            .xContentTypeOptions: "nosniff", .cacheControl: freshness.cacheControl,
        ]
    }
}

extension OriginContent {
    /// All bytes as one buffer.
    ///
    /// - Throws: `BundleError` if deflated content is damaged.
    func buffer() throws(BundleError) -> ByteBuffer {
        var buffer = ByteBuffer()
        buffer.reserveCapacity(count)
        let pieces = try pieces()
        while let piece = try pieces.next() { buffer.write(piece) }
        return buffer
    }

    /// A part of the bytes, read while it is being written.
    ///
    /// One piece is in memory at a time. The next one is read when the client has taken the one before, after a pause
    /// in which others have their turn. If a bundle is shortened meanwhile, the connection ends in the middle of the
    /// body.
    ///
    /// - Parameter isForOneClient: whether all of the content stays in memory until the client has taken it.
    /// - Returns: `nil` if too many bytes wait for clients.
    func body(_ range: Range<Int>, to client: Recipient, isForOneClient: Bool = false) -> ResponseBody? {
        guard let held = client.holding(isForOneClient ? count : unpackingBytes) else { return nil }
        let faults = mapped_faults_count()
        return ResponseBody(contentLength: range.count) { writer in
            defer { withExtendedLifetime(held) {} }
            let pieces = try self.pieces()
            var offset = 0
            while offset < range.upperBound {
                if offset > 0 { try await Task.sleep(for: .milliseconds(1)) }
                let part = client.holding(client.limits.pieceBytes)
                defer { withExtendedLifetime(part) {} }
                let size = part == nil ? UntakenBytes.uncounted : client.limits.pieceBytes
                let piece = try pieces.next(size, of: range, from: &offset)
                guard mapped_faults_count() == faults else {
                    throw DumpsError(.damaged, problem: "the bundle was shortened while it was being sent")
                }
                guard let piece else { break }
                try await writer.write(piece)
                // A write waits until everything before it has left the process.
                if !client.channel.isWritable { try await writer.write(ByteBuffer()) }
            }
            try await writer.finish(nil)
        }
    }
}

extension OriginContent.Pieces {
    /// The next bytes of a part of the content, at most `size` of them; `nil` at its end.
    ///
    /// - Parameter offset: the position of the next piece, which this call moves on
    fileprivate func next(_ size: Int, of part: Range<Int>, from offset: inout Int) throws(BundleError) -> ByteBuffer? {
        while offset < part.lowerBound, let skipped = try next(atMost: part.lowerBound - offset) {
            offset += skipped.count
        }
        // Small slices, such as the headers of a zip, share one buffer.
        var buffer = ByteBuffer()
        while buffer.readableBytes < size, offset < part.upperBound,
            let next = try next(atMost: min(part.upperBound - offset, size - buffer.readableBytes))
        {
            buffer.write(next)
            offset += next.count
        }
        return buffer.readableBytes > 0 ? buffer : nil
    }
}

extension ByteBuffer {
    fileprivate mutating func write(_ bytes: Bytes) {
        unsafe bytes.withUnsafeBytes { _ = unsafe writeBytes($0) }
    }
}
#endif
