import RemoteSettingsModel

/// The properties of an entry in a bundle: its compression method, its size and its checksum.
struct PackedContent: Hashable, Sendable {
    let isStored: Bool
    /// The size in bytes, uncompressed.
    let size: Int
    /// The CRC-32 of the uncompressed bytes.
    let crc: UInt32
}

extension PackedContent {
    /// Describes contents that are stored without compression.
    init(stored bytes: Bytes) {
        self.init(isStored: true, size: bytes.count, crc: crc32(of: bytes))
    }
}
