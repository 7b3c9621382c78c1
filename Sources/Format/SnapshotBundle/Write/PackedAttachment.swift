import RemoteSettingsModel

/// A file that contains packed attachments. It is closed with the last reference.
package final class PackedFile: Sendable {
    package let path: String
    package let descriptor: Int32

    /// - Parameter descriptor: of a file open for reading; closed with this object.
    package init(path: String, descriptor: Int32) {
        self.path = path
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Reads a part, piece by piece.
    func read(
        _ range: Range<Int>, _ consume: (Span<UInt8>) throws(BundleError) -> Void
    ) throws(BundleError) {
        var buffer = [UInt8](repeating: 0, count: min(max(range.count, 1), 256 << 10))
        var offset = range.lowerBound
        while offset < range.upperBound {
            let wanted = min(range.upperBound - offset, buffer.count)
            let count = unsafe buffer.withUnsafeMutableBytes { buffer in
                unsafe readFully(
                    descriptor, into: UnsafeMutableRawBufferPointer(rebasing: buffer[0..<wanted]), at: offset)
            }
            guard let count, count == wanted else {
                throw BundleError(
                    .unreadable, file: path, expected: "\(range.count) bytes at byte \(range.lowerBound)",
                    found: count == nil ? lastSystemError() : "the end of the file")
            }
            try consume(buffer.span.extracting(0..<count))
            offset += count
        }
    }
}

/// A packed attachment in a file, which is copied into a bundle without being compressed again.
///
/// Its hash was checked when it was packed and is not checked while it is copied: ``BundleReader/verifyContents()``
/// over the finished bundle does that.
package struct PackedAttachment: Sendable {
    let file: PackedFile
    let offset: Int
    let content: PackedContent

    package init(file: PackedFile, offset: Int, content: PackedContent) {
        self.file = file
        self.offset = offset
        self.content = content
    }
}
