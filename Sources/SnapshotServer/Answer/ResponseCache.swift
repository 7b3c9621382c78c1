import CMappedFaults
import HTTPTypes
import Hummingbird
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
import SnapshotOrigin
import Locks

/// The responses to the resources of one state.
///
/// The first request for a response makes it, and all later ones share it. So a request copies no body, and writes no
/// header line but `Date`.
final class ResponseCache: Sendable {
    /// One form of a resource: plain or compressed.
    struct Representation: Sendable {
        /// The answer to a plain `GET`.
        let response: Response
        let content: OriginContent
        /// The body, if it is small enough to be kept.
        let buffer: ByteBuffer?
    }

    private struct Key: Hashable {
        var resource: ObjectIdentifier
        var isGzip: Bool
    }

    private struct Kept {
        var representations: [Key: (resource: OriginResource, made: Representation)] = [:]
        /// The size of all bodies together.
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
        // A body that is not kept is made anew for each client, and is in memory until the client takes it.
        let isSmall = content.count <= (resource.isKept ? limits.keptBodyBytes : limits.pieceBytes)
        let hasRoom = kept.withLock { $0.bytes + content.count <= limits.keptBytes }
        let buffer = isSmall && (hasRoom || !resource.isKept) ? try content.buffer() : nil
        let body = buffer.map(ResponseBody.init(byteBuffer:)) ?? content.body(0..<content.count, limits)
        let made = Representation(
            response: Response(
                status: .ok, headers: resource.headers(isGzip: isGzip, length: content.count), body: body),
            content: content, buffer: buffer)
        guard resource.isKept else { return made }
        return kept.withLock { kept in
            // Two requests may have made it at the same time.
            if let known = kept.representations[key]?.made { return known }
            kept.representations[key] = (resource, made)
            kept.bytes += buffer?.readableBytes ?? 0
            return made
        }
    }
}

extension ResponseCache.Representation {
    /// The entity tag, with its quotation marks.
    var tag: String { response.headers[.eTag] ?? "" }

    func body(_ range: Range<Int>, _ limits: ServerLimits) -> ResponseBody {
        if let slice = buffer?.getSlice(at: range.lowerBound, length: range.count) {
            return ResponseBody(byteBuffer: slice)
        }
        return content.body(range, limits)
    }
}

extension OriginResource {
    /// Whether a client may ask for parts of it.
    var allowsRanges: Bool { [.attachment, .attachmentsZip, .bundle].contains(route) }

    fileprivate func headers(isGzip: Bool, length: Int) -> HTTPFields {
        var headers: HTTPFields = [.contentType: contentType, .contentLength: "\(length)"]
        if isGzip { headers[.contentEncoding] = "gzip" }
        headers[.eTag] = isGzip ? "\"\(tag)-gzip\"" : "\"\(tag)\""
        headers.append(contentsOf: HTTPFields.api(freshness))
        if let lastModified { headers[.lastModified] = HTTPDate.text(lastModified) }
        if hasGzip { headers[.vary] = "Accept-Encoding" }
        if allowsRanges {
            headers[.acceptRanges] = "bytes"
            // Attachments can come from anybody. If a browser opens one as a document, nothing in it may run.
            headers[.contentSecurityPolicy] = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
        }
        return headers
    }
}

extension HTTPFields {
    /// The headers of every answer of the API: scripts of other sites may read it, and browsers must not guess its
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
    /// One piece is in memory at a time. The next one is made when the client has taken enough of the one before. If
    /// somebody shortens a bundle meanwhile, the connection ends in the middle of the body.
    ///
    /// - Parameter held: kept until the body is sent.
    func body(
        _ range: Range<Int>, _ limits: ServerLimits, holding held: (any Sendable)? = nil
    ) -> ResponseBody {
        let faults = mapped_faults_count()
        return ResponseBody(contentLength: range.count) { writer in
            defer { withExtendedLifetime(held) {} }
            let pieces = try self.pieces()
            var buffer = ByteBuffer()
            var offset = 0
            while offset < range.upperBound, let piece = try pieces.next() {
                // Small pieces, such as the headers of a zip, share one buffer. Large ones are split into several.
                var wanted = range.clamped(to: offset..<offset + piece.count)
                while !wanted.isEmpty {
                    let end = min(wanted.upperBound, wanted.lowerBound + limits.pieceBytes - buffer.readableBytes)
                    buffer.write(piece[wanted.lowerBound - offset..<end - offset])
                    wanted = end..<wanted.upperBound
                    guard buffer.readableBytes >= limits.pieceBytes else { continue }
                    guard mapped_faults_count() == faults else { throw ShortenedBundle() }
                    try await writer.write(buffer)
                    buffer = ByteBuffer()
                }
                offset += piece.count
            }
            guard mapped_faults_count() == faults else { throw ShortenedBundle() }
            if buffer.readableBytes > 0 { try await writer.write(buffer) }
            try await writer.finish(nil)
        }
    }
}

/// Somebody has shortened the bundle that is being sent.
private struct ShortenedBundle: Error {}

extension ByteBuffer {
    fileprivate mutating func write(_ bytes: Bytes) {
        unsafe bytes.withUnsafeBytes { _ = unsafe writeBytes($0) }
    }
}
