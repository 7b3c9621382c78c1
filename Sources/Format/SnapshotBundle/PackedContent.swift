import RemoteSettingsModel

/// The form of an entry's contents in a bundle, and the size and checksum that they must have.
package struct PackedContent: Hashable, Sendable {
    package let isStored: Bool
    /// Bytes, uncompressed.
    package let size: Int
    /// Bytes in the file.
    package let packedSize: Int
    /// CRC-32 of the uncompressed bytes.
    package let crc: UInt32

    package init(isStored: Bool, size: Int, packedSize: Int, crc: UInt32) {
        self.isStored = isStored
        self.size = size
        self.packedSize = packedSize
        self.crc = crc
    }
}

extension MappedFile {
    /// Reads packed contents, in little memory.
    ///
    /// - Parameter range: their place in the file.
    /// - Returns: the SHA-256 of the uncompressed bytes; `nil` if size, checksum or deflate stream is wrong.
    package func digest(of content: PackedContent, at range: Range<Int>) -> SHA256Digest? {
        guard !content.isStored || range.count == content.size else { return nil }
        let entry = PackedEntry(
            size: content.size, crc: content.crc, isDeflated: !content.isStored, bytes: bytes[range], file: path,
            name: "", mapping: self, start: range.lowerBound)
        var hasher = ContentHasher()
        do {
            try entry.read { hasher.update($0) }
            return hasher.finish()
        } catch {
            return nil
        }
    }
}
