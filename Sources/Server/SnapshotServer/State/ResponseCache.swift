import CMappedFaults
import Dumps
import HTTPTypes
import Hummingbird
import NIOCore
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
import SnapshotOrigin

/// Caches the response headers and bodies of the resources of one `ServedState`.
///
/// They are created on the first request for a resource and shared by all later ones. Handling a request therefore
/// copies no cached body and generates no header except `Date`.
final class ResponseCache: Sendable {
    /// One variant of a resource: plain or compressed.
    struct Representation: Sendable {
        /// The headers of the response to a plain `GET`.
        let headers: HTTPFields
        let content: OriginContent
        /// Whether the content was created for one client, and stays in memory until that client has received it.
        let isForOneClient: Bool
        /// The body in memory; `nil` if it is too large, or if the cache is full.
        let buffer: ByteBuffer?
    }

    private struct Key: Hashable {
        var resource: ObjectIdentifier
        var isGzip: Bool
    }

    private struct Kept {
        var representations: [Key: (resource: OriginResource, made: Representation)] = [:]
        /// The total size of all cached bodies and all compressed variants in bytes.
        var bytes = 0
    }

    private let limits: ServerLimits
    private let kept = Mutex(Kept())

    init(_ limits: ServerLimits) {
        self.limits = limits
    }

    /// Returns a variant of a resource, from the cache if possible.
    ///
    /// - Returns: `nil` if the resource has no compressed variant.
    /// - Throws: `Failure` if the bundle cannot be read.
    func representation(of resource: OriginResource, isGzip: Bool) throws(Failure) -> Representation? {
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
            // Two requests may have created the variant at the same time. Use the first one.
            if let known = kept.representations[key]?.made { return known }
            kept.representations[key] = (resource, made)
            // Count the compressed variant even if its body is not cached here, because the resource itself caches it.
            kept.bytes += (buffer?.readableBytes ?? 0) + (isGzip && resource.compresses ? content.count : 0)
            return made
        }
    }
}

/// The client that receives a response.
struct Recipient: Sendable {
    let channel: any Channel
    let untaken: UntakenBytes
    let limits: ServerLimits

    /// Reserves memory for unsent bytes of a response to this client.
    ///
    /// - Returns: `nil` if too many unsent bytes are in memory.
    func holding(_ bytes: Int) -> UntakenBytes.Part? {
        untaken.add(bytes, for: ConnectionTable.network(channel.remoteAddress))
    }
}

extension ResponseCache.Representation {
    /// The entity tag, with its quotation marks.
    var tag: String { headers[.eTag] ?? "" }

    /// Returns the response to a plain `GET`; `nil` if too many unsent bytes are in memory.
    func response(to client: Recipient) -> Response? {
        body(0..<content.count, to: client).map { Response(status: .ok, headers: headers, body: $0) }
    }

    /// Returns a body with a range of the content.
    ///
    /// - Returns: `nil` if too many unsent bytes are in memory.
    func body(_ range: Range<Int>, to client: Recipient) -> ResponseBody? {
        if let slice = buffer?.getSlice(at: range.lowerBound, length: range.count) {
            return ResponseBody(byteBuffer: slice)
        }
        return content.body(range, to: client, isForOneClient: isForOneClient)
    }
}

extension OriginResource {
    /// Whether a client may request a range of the resource.
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
            // Anyone may have created an attachment. If a browser opens it as a document, it must not run scripts.
            headers[.contentSecurityPolicy] = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
        }
        return headers
    }
}

extension HTTPFields {
    /// Returns the headers of every API response. They let scripts from other sites read it, and prevent browsers from
    /// guessing its type.
    static func api(_ freshness: OriginResource.Freshness) -> HTTPFields {
        [
            .accessControlAllowOrigin: "*",
            .accessControlExposeHeaders: "Backoff, Retry-After, Alert, Content-Length, ETag, Last-Modified",
            .xContentTypeOptions: "nosniff", .cacheControl: freshness.cacheControl,
        ]
    }
}

extension OriginContent {
    /// Returns all bytes in one buffer.
    ///
    /// - Throws: `Failure` if deflated content is damaged.
    func buffer() throws(Failure) -> ByteBuffer {
        var buffer = ByteBuffer()
        buffer.reserveCapacity(count)
        let pieces = try pieces()
        while let piece = try pieces.next() { buffer.write(piece) }
        return buffer
    }

    /// Returns a body with a part of the bytes, which are read while the body is being sent.
    ///
    /// Only one piece is in memory at a time. The next piece is read when the client has received the previous one,
    /// after a pause in which other connections get their turn. If a bundle is truncated during the transfer, the
    /// connection is closed in the middle of the body.
    ///
    /// - Parameter isForOneClient: whether all of the content stays in memory until the client has received it.
    /// - Returns: `nil` if too many unsent bytes are in memory.
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
                    throw Failure(.damaged, problem: "the bundle was truncated while it was being sent")
                }
                guard let piece else { break }
                try await writer.write(piece)
                // This empty write waits until all bytes before it have left the process.
                if !client.channel.isWritable { try await writer.write(ByteBuffer()) }
            }
            try await writer.finish(nil)
        }
    }
}

extension OriginContent.Pieces {
    /// Returns the next bytes of a part of the content, at most `size` of them; `nil` after the last ones.
    ///
    /// - Parameter offset: the position of the next piece, which this call advances.
    fileprivate func next(_ size: Int, of part: Range<Int>, from offset: inout Int) throws(Failure) -> ByteBuffer? {
        while offset < part.lowerBound, let skipped = try next(atMost: part.lowerBound - offset) {
            offset += skipped.count
        }
        // Combine small slices, such as the headers of a ZIP file, in one buffer.
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
