import RemoteSettingsModel

/// An entry's contents as stored in a bundle, with their required size and checksum.
struct PackedContent: Hashable, Sendable {
    let isStored: Bool
    /// The size in bytes, uncompressed.
    let size: Int
    /// CRC-32 of the uncompressed bytes.
    let crc: UInt32
}

extension PackedContent {
    /// Makes contents that are stored uncompressed.
    init(stored bytes: Bytes) {
        self.init(isStored: true, size: bytes.count, crc: crc32(of: bytes))
    }
}
