import CLZ4
import RemoteSettingsModel

/// Mozilla's container for one LZ4 block: `mozLz40` and a zero byte, the size of the contents (32 bits, lowest byte
/// first), and the block (Gecko's `lz4` module; there is no RFC).
package enum MozLZ4 {
    /// Why a container cannot be read.
    package struct Refused: Error, Hashable {
        package let expected: String
        package let found: String
    }

    private static let magic = Array("mozLz40\0".utf8)
    /// LZ4's format makes at most this many bytes out of one.
    private static let largestRatio = 255

    /// Whether the bytes begin as a container does.
    package static func isOne(_ bytes: Bytes) -> Bool { bytes.starts(with: magic) }

    /// Packs the segments, one behind the other.
    ///
    /// - Returns: `nil` where there are more bytes than LZ4 takes in one block, about 2 GB.
    package static func pack(_ segments: [Bytes]) -> Bytes? {
        let input = segments.flatMap(\.array)
        guard let size = Int32(exactly: input.count), size <= LZ4_MAX_INPUT_SIZE else { return nil }
        var output = magic
        for shift in [0, 8, 16, 24] as [Int32] { output.append(UInt8(truncatingIfNeeded: size >> shift)) }
        let head = output.count
        let bound = Int(LZ4_compressBound(size))
        output.append(contentsOf: repeatElement(0, count: bound))
        let written = unsafe input.withUnsafeBytes { source in
            unsafe output.withUnsafeMutableBytes { target -> Int32 in
                guard let source = unsafe source.bindMemory(to: CChar.self).baseAddress,
                    let target = unsafe target.bindMemory(to: CChar.self).baseAddress
                else { return 0 }
                return unsafe LZ4_compress_default(source, target + head, size, Int32(bound))
            }
        }
        guard written > 0 else { return nil }
        output.removeLast(bound - Int(written))
        return Bytes(output)
    }

    /// - Parameter limit: the most bytes that may come out.
    /// - Throws: ``Refused`` where the container is damaged, cut off, or holds more than `limit`.
    package static func unpack(_ bytes: Bytes, limit: Int) throws(Refused) -> Bytes {
        guard bytes.count >= magic.count + 4 else {
            throw Refused(expected: "a mozLz4 header of 12 bytes", found: "\(bytes.count)")
        }
        let size = bytes[magic.count..<magic.count + 4].array.reversed().reduce(0) { $0 << 8 | Int($1) }
        let block = bytes[magic.count + 4..<bytes.count]
        guard size <= limit else { throw Refused(expected: "at most \(limit) bytes", found: "\(size)") }
        guard block.count <= Int(Int32.max), size <= block.count * largestRatio + 16 else {
            throw Refused(expected: "a size that \(block.count) bytes of LZ4 can hold", found: "\(size)")
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
            throw Refused(
                expected: "\(size) bytes, as the header says", found: count < 0 ? "a damaged LZ4 block" : "\(count)")
        }
        return Bytes(output)[0..<size]
    }
}
