import NIOCore
import NIOHTTP1
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
import SnapshotOrigin

/// What answers with a resource have in common, made once: heads, and small bodies as buffers.
final class PreparedResource: Sendable {
    /// One coding of the resource.
    struct Representation: Sendable {
        let tag: String
        let head: ByteBuffer
        let length: Int
        /// The body, where it is small enough to be written at once.
        let buffers: [ByteBuffer]?
        let content: OriginResource.Content
    }

    let identity: Representation
    let gzip: Representation?
    /// Answers that have no body carry these.
    let lines: String
    let allowsRanges: Bool
    private let kept: KeptBytes
    private let keptCount: Int

    init(_ resource: OriginResource, limits: ServerLimits, kept: KeptBytes) {
        var lines = ResponseHead.Lines()
        lines.addCommon()
        lines.add(resource.freshness)
        if let time = resource.lastModified { lines.add("Last-Modified", HTTPDate.text(time)) }
        if resource.hasGzip { lines.add("Vary", "Accept-Encoding") }
        allowsRanges = [.attachment, .attachmentsZip, .bundle].contains(resource.route)
        if allowsRanges {
            lines.add("Accept-Ranges", "bytes")
            // Attachments are anybody's files: where a browser opens one as a document, nothing in it may run.
            lines.add("Content-Security-Policy", "sandbox; default-src 'none'; style-src 'unsafe-inline'")
        }
        self.lines = lines.text
        let inflated = Self.inflated(resource.content, limits, kept)
        self.kept = kept
        keptCount = inflated?.count ?? 0
        identity = Self.representation(
            resource, lines.text, tag: "\"\(resource.tag)\"",
            content: inflated.map { .segments([$0]) } ?? resource.content, isGzip: false, limits)
        gzip = resource.gzip().map { segments in
            Self.representation(
                resource, lines.text, tag: "\"\(resource.tag)-gzip\"", content: .segments(segments), isGzip: true,
                limits
            )
        }
    }

    deinit { kept.giveBack(keptCount) }

    /// Small deflated content, so that it is inflated once and not for each answer; `nil` where there is no room for it.
    private static func inflated(
        _ content: OriginResource.Content, _ limits: ServerLimits, _ kept: KeptBytes
    ) -> Bytes? {
        guard case .packed(let packed) = content, packed.count <= limits.keptAttachmentBytes,
            kept.take(packed.count)
        else { return nil }
        // What is damaged is found, and reported, by who writes it.
        guard let bytes = try? packed.reader().whole(packed.count) else {
            kept.giveBack(packed.count)
            return nil
        }
        return bytes
    }

    private static func representation(
        _ resource: OriginResource, _ lines: String, tag: String, content: OriginResource.Content, isGzip: Bool,
        _ limits: ServerLimits
    ) -> Representation {
        var head = ResponseHead(200)
        head.add("Content-Type", resource.contentType)
        head.add("Content-Length", "\(content.count)")
        if isGzip { head.add("Content-Encoding", "gzip") }
        head.add("ETag", tag)
        head.append(lines)
        var buffers: [ByteBuffer]?
        // Larger bodies are written piece by piece; the pieces are wrapped anew each time, which costs little for each.
        if case .segments(let segments) = content, segments.count <= 8 {
            if content.count <= 8 << 20 {
                buffers = segments.filter { !$0.isEmpty }.flatMap { pieces($0, limits.pieceBytes) }
            }
        }
        return Representation(tag: tag, head: head.buffer, length: content.count, buffers: buffers, content: content)
    }

    /// Small bodies stay one buffer: fewer system calls.
    private static func pieces(_ bytes: Bytes, _ size: Int) -> [ByteBuffer] {
        if bytes.isInPlace {
            return stride(from: 0, to: bytes.count, by: size).map {
                MappedBuffer.make(bytes[$0..<min($0 + size, bytes.count)])
            }
        }
        return [MappedBuffer.make(bytes)]
    }
}

extension OriginResource {
    /// Made at the first answer and kept for as long as the resource is.
    func preparation(_ limits: ServerLimits, _ kept: KeptBytes) -> PreparedResource {
        prepared.withLock { prepared in
            if let known = prepared as? PreparedResource { return known }
            let made = PreparedResource(self, limits: limits, kept: kept)
            prepared = made
            return made
        }
    }
}
