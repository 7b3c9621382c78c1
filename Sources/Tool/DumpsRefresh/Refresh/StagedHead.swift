import RemoteSettingsModel
import SnapshotBundle

/// The head before each attachment in a staging file: SHA-256, size, packed size, CRC-32 and whether it is
/// stored. Numbers have 8 bytes, lowest first.
struct StagedHead {
    static let size = 64
    static let fileHeadSize = 64

    let digest: SHA256Digest
    let content: PackedContent

    init(digest: SHA256Digest, content: PackedContent) {
        self.digest = digest
        self.content = content
    }

    /// The head of the file. It names the version of zlib, because a bundle must not mix the output of different
    /// versions.
    static var fileHead: [UInt8] {
        var head = Array("rsdump staging 2, zlib \(zlibVersionText)\n".utf8.prefix(fileHeadSize))
        head += repeatElement(0, count: fileHeadSize - head.count)
        return head
    }

    static func begins(_ bytes: Bytes) -> Bool { bytes.starts(with: fileHead) }

    /// - Returns: `nil` if there is no whole attachment at `offset`.
    init?(_ bytes: Bytes, at offset: Int) {
        guard bytes.count - offset >= Self.size else { return nil }
        let head = bytes[offset..<offset + Self.size].array
        func number(_ index: Int) -> UInt64 {
            head[32 + 8 * index..<40 + 8 * index].reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }
        guard let digest = SHA256Digest(head[..<32]), let size = Int(exactly: number(0)),
            let packedSize = Int(exactly: number(1)), let crc = UInt32(exactly: number(2)), number(3) <= 1,
            packedSize <= size, packedSize <= bytes.count - offset - Self.size
        else { return nil }
        self.digest = digest
        content = PackedContent(isStored: number(3) == 1, size: size, packedSize: packedSize, crc: crc)
    }

    func append(to bytes: inout [UInt8]) {
        bytes += digest.bytes
        let numbers = [
            UInt64(clamping: content.size), UInt64(clamping: content.packedSize), UInt64(content.crc),
            content.isStored ? 1 : 0,
        ]
        for number in numbers {
            unsafe withUnsafeBytes(of: number.littleEndian) { unsafe bytes.append(contentsOf: $0) }
        }
    }
}
