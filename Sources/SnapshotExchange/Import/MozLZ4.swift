import CLZ4
import RemoteSettingsModel

/// Mozilla's container for one LZ4 block: `mozLz40` and a zero byte, the size of what is inside (32 bits, lowest byte
/// first), and the block.
enum MozLZ4 {
    private static let magic = Array("mozLz40\0".utf8)
    /// LZ4's format makes no more than this out of one byte.
    private static let largestRatio = 255

    static func isOne(_ bytes: Bytes) -> Bool { bytes.starts(with: magic) }

    /// - Parameter name: the file, for errors.
    /// - Throws: ``ExchangeError`` where the block is damaged, cut off, or larger than `limit`.
    static func decompress(_ bytes: Bytes, name: String, limit: Int) throws(ExchangeError) -> Bytes {
        func refused(_ expected: String, _ found: String) -> ExchangeError {
            ExchangeError(.badInput, name, expected: expected, found: found, remedy: "fetch the file again")
        }
        guard bytes.count >= magic.count + 4 else { throw refused("a mozLz4 header of 12 bytes", "\(bytes.count)") }
        let header = bytes[magic.count..<magic.count + 4].array
        let size = header.reversed().reduce(0) { $0 << 8 | Int($1) }
        let block = bytes[magic.count + 4..<bytes.count]
        guard size <= limit else { throw refused("at most \(limit) bytes (Limits.changesetBytes)", "\(size)") }
        guard size <= block.count * largestRatio + 16, block.count <= Int(Int32.max) else {
            throw refused("a size that \(block.count) bytes of LZ4 can give", "\(size)")
        }
        var output = [UInt8](repeating: 0, count: size + 1)
        let count = unsafe block.withUnsafeBytes { source in
            unsafe output.withUnsafeMutableBytes { target in
                unsafe LZ4_decompress_safe(
                    source.bindMemory(to: CChar.self).baseAddress, target.bindMemory(to: CChar.self).baseAddress,
                    Int32(source.count), Int32(size))
            }
        }
        guard count == size else {
            throw refused("\(size) bytes, as the header says", count < 0 ? "a damaged LZ4 block" : "\(count)")
        }
        return Bytes(output)[0..<size]
    }
}
