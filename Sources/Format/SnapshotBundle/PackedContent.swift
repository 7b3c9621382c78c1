import RemoteSettingsModel

/// The form of an entry's contents in a bundle, and the size and checksum that they must have.
struct PackedContent: Hashable, Sendable {
    let isStored: Bool
    /// The size in bytes, uncompressed.
    let size: Int
    /// CRC-32 of the uncompressed bytes.
    let crc: UInt32
}

extension PackedContent {
    /// Contents that are not compressed.
    init(stored bytes: Bytes) {
        self.init(isStored: true, size: bytes.count, crc: crc32(of: bytes))
    }
}
