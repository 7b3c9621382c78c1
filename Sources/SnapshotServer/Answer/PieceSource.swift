import NIOCore
import RemoteSettingsModel
import SnapshotBundle
import SnapshotOrigin

/// Makes buffers of an answer's body, one after another, as fast as the client takes them. For one answer.
final class PieceSource {
    private enum Rest {
        /// The segments, and where in the first of them the next byte is.
        case segments(ArraySlice<Bytes>, offset: Int)
        case packed(PackedContentReader)
    }

    private var rest: Rest
    private var left: Int
    private let pieceBytes: Int
    private var scratch: [UInt8] = []

    /// - Parameters:
    ///   - range: the part that is wanted.
    ///   - pieceBytes: the most that a buffer holds.
    /// - Throws: `BundleError` where deflated content cannot be read.
    init(_ content: OriginResource.Content, range: Range<Int>, pieceBytes: Int) throws(BundleError) {
        left = range.count
        self.pieceBytes = pieceBytes
        switch content {
        case .segments(let segments):
            var segments = segments[...]
            var offset = range.lowerBound
            while let first = segments.first, offset >= first.count {
                offset -= first.count
                segments.removeFirst()
            }
            rest = .segments(segments, offset: offset)
        case .packed(let packed):
            let reader = try packed.reader()
            rest = .packed(reader)
            scratch = [UInt8](repeating: 0, count: min(64 << 10, max(packed.count, 1)))
            try skip(range.lowerBound, reader)
        }
    }

    private var skipped: [UInt8] = []

    private func skip(_ count: Int, _ reader: PackedContentReader) throws(BundleError) {
        var toSkip = count
        while toSkip > 0 {
            let read = try reader.next(into: &scratch)
            guard read > 0 else { throw Self.short }
            if read > toSkip { skipped = Array(scratch[toSkip..<read]) }
            toSkip -= min(read, toSkip)
        }
    }

    private static var short: BundleError {
        BundleError(.damaged, file: "a bundle", expected: "as many bytes as its directory says", found: "fewer")
    }

    var isAtEnd: Bool { left == 0 }

    /// The next buffer; `nil` at the end.
    ///
    /// - Throws: `BundleError` where deflated content is damaged: then what was announced cannot be sent.
    func next() throws(BundleError) -> ByteBuffer? {
        guard left > 0 else { return nil }
        switch rest {
        case .segments(let segments, let offset): return nextSegment(segments, offset)
        case .packed(let reader):
            let bytes: [UInt8]
            if skipped.isEmpty {
                let read = try reader.next(into: &scratch)
                guard read > 0 else { throw Self.short }
                bytes = Array(scratch[..<min(read, left)])
            } else {
                bytes = Array(skipped.prefix(left))
                skipped = []
            }
            left -= bytes.count
            return ByteBuffer(bytes: bytes)
        }
    }

    private func nextSegment(_ segments: ArraySlice<Bytes>, _ offset: Int) -> ByteBuffer? {
        var (segments, offset) = (segments, offset)
        var joined: ByteBuffer?
        // Small segments, such as the headers of a zip, go into one buffer.
        while let first = segments.first, left > 0 {
            let count = min(first.count - offset, left, pieceBytes)
            if count >= 16 << 10, joined != nil { break }
            let part = first[offset..<offset + count]
            left -= count
            offset += count
            if offset == first.count {
                segments.removeFirst()
                offset = 0
            }
            if count >= 16 << 10 {
                rest = .segments(segments, offset: offset)
                return MappedBuffer.make(part)
            }
            var buffer = joined ?? ByteBuffer()
            unsafe part.withUnsafeBytes { _ = unsafe buffer.writeBytes($0) }
            joined = buffer
            if buffer.readableBytes >= 64 << 10 { break }
        }
        rest = .segments(segments, offset: offset)
        return joined
    }
}
