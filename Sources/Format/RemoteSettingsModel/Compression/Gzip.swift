/// A gzip member (RFC 1952) around a raw deflate stream.
package enum GzipMember {
    /// The header of a member. It has no name, no time and an unknown system, so that every machine writes the same
    /// bytes.
    private static let header = Bytes([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255])

    /// Wraps an existing deflate stream without copying it.
    ///
    /// - Parameters:
    ///   - crc: the CRC-32 of the uncompressed bytes.
    ///   - size: the number of uncompressed bytes.
    package static func wrap(_ deflated: Bytes, crc: UInt32, size: Int) -> [Bytes] {
        var trailer: [UInt8] = []
        for value in [crc, UInt32(truncatingIfNeeded: size)] {
            for shift in [0, 8, 16, 24] as [UInt32] { trailer.append(UInt8(truncatingIfNeeded: value >> shift)) }
        }
        return [header, deflated, Bytes(trailer)]
    }

    /// Compresses the segments, one after the other, into one member; returns `nil` if there is not enough memory.
    ///
    /// - Parameter level: the compression level, from 1 (the fastest) to 9 (the smallest output).
    package static func compress(_ segments: [Bytes], level: Int32) -> Bytes? {
        guard let deflater = Deflater(level: level) else { return nil }
        var (crc, size): (UInt32, Int) = (0, 0)
        var output: [UInt8] = []
        for segment in segments {
            size += segment.count
            crc = crc32(of: segment, continuing: crc)
            segment.withSpan { deflater.deflate($0) { output.append(contentsOf: $0) } }
        }
        deflater.finish { output.append(contentsOf: $0) }
        return Bytes(wrap(Bytes(output), crc: crc, size: size).flatMap(\.array))
    }
}

/// Decompresses one or several gzip members in pieces of limited size. It is not safe to use from several threads.
package final class GzipStream {
    static let pieceSize = 64 << 10

    private let inflater: Inflater
    private var input = Bytes()
    private var consumed = 0
    private var hasMoreOutput = false

    /// Whether the input so far consists of complete members.
    package private(set) var isAtEnd = true

    package init() throws(Failure) {
        inflater = try Inflater(.gzip)
    }

    /// Sets the next compressed bytes. Call it after ``next()`` has returned `nil`.
    package func feed(_ bytes: [UInt8]) {
        input = Bytes(bytes)
        consumed = 0
    }

    /// Returns the next decompressed bytes, at most ``pieceSize`` of them; `nil` if more input is needed.
    package func next() throws(Failure) -> [UInt8]? {
        while hasMoreOutput || consumed < input.count {
            if isAtEnd {
                isAtEnd = false
                inflater.reset()
            }
            let (piece, step) = try inflater.piece(of: input, from: consumed, size: Self.pieceSize)
            consumed += step.consumed
            isAtEnd = step.isEnd
            hasMoreOutput = !step.isEnd && piece.count == Self.pieceSize
            // The stream is corrupt if zlib makes no progress although it has both input and space for output.
            guard step.isEnd || step.consumed > 0 || step.produced > 0 || consumed == input.count else {
                throw .corruptStream
            }
            if !piece.isEmpty { return piece }
        }
        return nil
    }
}
