/// Mozilla's container for one LZ4 block. It consists of `mozLz40` and a zero byte, the size of the contents (32 bits,
/// lowest byte first), and the block (Gecko's `lz4` module; there is no RFC).
///
/// It is read here without liblz4, so that an app does not have to link that library for the server's only file in this
/// form.
package enum MozLZ4 {
    /// Why a container cannot be read.
    package struct Refused: Error, Hashable {
        package let expected: String
        package let found: String
    }

    package static let magic = Array("mozLz40\0".utf8)
    /// The largest number of bytes that one byte of LZ4 can expand to.
    private static let largestRatio = 255

    /// Whether the bytes begin like a container.
    package static func isOne(_ bytes: Bytes) -> Bool { bytes.starts(with: magic) }

    /// Reads a container.
    ///
    /// - Parameter limit: the largest number of bytes that it may contain.
    /// - Throws: ``Refused`` if the container is damaged, cut off, or holds more than `limit`.
    package static func unpack(_ bytes: Bytes, limit: Int) throws(Refused) -> Bytes {
        guard bytes.count >= magic.count + 4 else {
            throw Refused(expected: "a mozLz4 header of 12 bytes", found: "\(bytes.count)")
        }
        guard isOne(bytes) else { throw Refused(expected: "a mozLz4 header", found: "other bytes") }
        let size = bytes[magic.count..<magic.count + 4].array.reversed().reduce(0) { $0 << 8 | Int64($1) }
        guard size <= limit else { throw Refused(expected: "at most \(limit) bytes", found: "\(size)") }
        let block = bytes[magic.count + 4..<bytes.count]
        guard size <= Int64(clamping: block.count).saturatingMultiplying(by: Int64(largestRatio)) else {
            throw Refused(expected: "a size that \(block.count) bytes of LZ4 can hold", found: "\(size)")
        }
        guard let content = block.withSpan({ LZ4Block.content($0, size: Int(size)) }) else {
            throw Refused(expected: "an LZ4 block of \(size) bytes, as the header says", found: "a damaged block")
        }
        return Bytes(content)
    }
}

/// LZ4's block format. A block is a list of sequences: a token, literal bytes to copy, and a match, which repeats
/// earlier bytes of the output (lz4_Block_format.md of the LZ4 project).
private enum LZ4Block {
    /// Decompresses a block.
    ///
    /// - Returns: exactly `size` bytes; `nil` if the block is damaged or has another size.
    static func content(_ block: Span<UInt8>, size: Int) -> [UInt8]? {
        var output = [UInt8](repeating: 0, count: size)
        var target = output.mutableSpan
        var (read, written) = (0, 0)

        /// The length that a nibble of the token begins; `nil` if the block ends early, or if the output would be too
        /// long.
        func length(_ nibble: UInt8) -> Int? {
            var length = Int(nibble)
            guard nibble == 15 else { return length }
            while true {
                guard read < block.count, length <= size else { return nil }
                let more = block[read]
                read += 1
                length += Int(more)
                if more != 255 { return length }
            }
        }
        while read < block.count {
            let token = block[read]
            read += 1
            guard let literals = length(token >> 4), literals <= block.count - read, literals <= size - written
            else { return nil }
            for _ in 0..<literals {
                target[written] = block[read]
                read += 1
                written += 1
            }
            // The last sequence has no match.
            if read == block.count { break }
            guard block.count - read >= 2 else { return nil }
            let distance = Int(block[read]) | Int(block[read + 1]) << 8
            read += 2
            guard distance > 0, distance <= written, let rest = length(token & 15), rest + 4 <= size - written
            else { return nil }
            // A match may overlap the bytes that it writes. It then repeats them.
            for _ in 0..<rest + 4 {
                target[written] = target[written - distance]
                written += 1
            }
        }
        return written == size ? output : nil
    }
}
