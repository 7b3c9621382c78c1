import CZlib

/// Inflates one stream at once or in steps.
///
/// It owns zlib's state and frees it. Threads must not share it.
@safe
package final class Inflater {
    /// What surrounds the compressed bytes.
    package enum Format {
        /// Nothing (RFC 1951).
        case raw
        /// A gzip header and a trailer with a checksum (RFC 1952), both of which zlib checks.
        case gzip
    }

    /// What one call consumed and produced.
    package struct Step {
        package let consumed: Int
        package let produced: Int
        /// Whether the stream ended.
        package let isEnd: Bool
    }

    /// Roughly the memory that zlib uses for one stream, in bytes: its window of 32 KiB, and 7 KiB (`zconf.h`).
    package static let memoryBytes = 40 << 10

    // It is on the heap, because zlib keeps a pointer to it.
    private let stream: UnsafeMutablePointer<z_stream>

    package init(_ format: Format = .raw) throws(FormatError) {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        guard unsafe rs_inflate_init(stream, format == .gzip ? 1 : 0) == Z_OK else {
            unsafe stream.deallocate()
            throw .outOfMemory
        }
        unsafe self.stream = unsafe stream
    }

    deinit {
        _ = unsafe inflateEnd(stream)
        unsafe stream.deallocate()
    }

    /// Begins a new stream.
    package func reset() {
        _ = unsafe inflateReset(stream)
    }

    /// Inflates a whole raw stream of exactly `size` bytes into a new array, without another buffer.
    package static func inflate(_ input: Bytes, size: Int) throws(FormatError) -> [UInt8] {
        let inflater = try Inflater()
        return try unsafe inflater.filling(size) { (buffer) throws(FormatError) in
            try unsafe inflater.run(input, into: buffer)
        }
    }

    private func run(_ input: Bytes, into buffer: UnsafeMutableRawBufferPointer) throws(FormatError) -> Int {
        var (consumed, produced) = (0, 0)
        // zlib counts in 32 bits. It reports the end only if it may write one byte more than there is.
        var spare: UInt8 = 0
        while true {
            let room = buffer.count - produced
            let step: Step
            if room > 0 {
                step = try unsafe inflate(
                    input, from: consumed,
                    into: UnsafeMutableRawBufferPointer(rebasing: buffer[produced...]))
            } else {
                step = try unsafe withUnsafeMutableBytes(of: &spare) { (last) throws(FormatError) in
                    try unsafe inflate(input, from: consumed, into: last)
                }
                guard step.produced == 0 else { throw .streamTooLong }
            }
            consumed += step.consumed
            produced += step.produced
            if step.isEnd {
                guard consumed == input.count else { throw .trailingBytes }
                guard produced == buffer.count else { throw .streamTooShort }
                return produced
            }
            guard step.consumed > 0 || step.produced > 0 else { throw .streamTooShort }
        }
    }

    /// Inflates as much as fits into `buffer`.
    ///
    /// - Parameter offset: how much of `input` has already been consumed.
    package func inflate(_ input: Bytes, from offset: Int, into buffer: inout [UInt8]) throws(FormatError) -> Step {
        var span = buffer.mutableSpan
        return try unsafe span.withUnsafeMutableBytes { (buffer) throws(FormatError) in
            try unsafe inflate(input, from: offset, into: buffer)
        }
    }

    /// Inflates at most `size` bytes into a new array.
    ///
    /// - Parameter offset: how much of `input` has already been consumed.
    func piece(
        of input: Bytes, from offset: Int, size: Int
    ) throws(FormatError) -> (bytes: [UInt8], step: Step) {
        var step = Step(consumed: 0, produced: 0, isEnd: false)
        let bytes = try unsafe filling(size) { (buffer) throws(FormatError) in
            step = try unsafe inflate(input, from: offset, into: buffer)
            return step.produced
        }
        return (bytes, step)
    }

    /// A new array of at most `size` bytes. `body` writes them and returns how many it wrote.
    private func filling(
        _ size: Int, _ body: (UnsafeMutableRawBufferPointer) throws(FormatError) -> Int
    ) throws(FormatError) -> [UInt8] {
        var failure: FormatError?
        let output = unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            do throws(FormatError) {
                count = try unsafe body(UnsafeMutableRawBufferPointer(buffer))
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return output
    }

    private func inflate(
        _ input: Bytes, from offset: Int, into buffer: UnsafeMutableRawBufferPointer
    ) throws(FormatError) -> Step {
        // Each piece is small enough for its size to fit into 32 bits.
        let piece = input[offset..<min(input.count, offset + (1 << 30))]
        let room = min(buffer.count, 1 << 30)
        let status = unsafe piece.withUnsafeBytes { source -> Int32 in
            unsafe stream.pointee.next_in = unsafe UnsafeMutablePointer(
                mutating: source.bindMemory(to: UInt8.self).baseAddress)
            unsafe stream.pointee.avail_in = UInt32(source.count)
            unsafe stream.pointee.next_out = buffer.bindMemory(to: UInt8.self).baseAddress
            unsafe stream.pointee.avail_out = UInt32(room)
            let status = unsafe CZlib.inflate(stream, Z_NO_FLUSH)
            unsafe stream.pointee.next_in = nil
            unsafe stream.pointee.next_out = nil
            return status
        }
        let step = unsafe Step(
            consumed: piece.count - Int(stream.pointee.avail_in), produced: room - Int(stream.pointee.avail_out),
            isEnd: status == Z_STREAM_END)
        switch status {
        case Z_OK, Z_STREAM_END, Z_BUF_ERROR: return step
        case Z_MEM_ERROR: throw .outOfMemory
        default: throw .corruptStream
        }
    }
}

/// CRC-32 (ITU-T V.42) of bytes, as ZIP and gzip use it.
///
/// - Parameter crc: the checksum of the bytes before these.
package func crc32(of bytes: Span<UInt8>, continuing crc: UInt32 = 0) -> UInt32 {
    unsafe bytes.withUnsafeBufferPointer { buffer in
        unsafe UInt32(truncatingIfNeeded: crc32_z(UInt(crc), buffer.baseAddress, buffer.count))
    }
}

/// CRC-32 of bytes; see ``crc32(of:continuing:)-(Span<UInt8>,_)``.
package func crc32(of bytes: Bytes, continuing crc: UInt32 = 0) -> UInt32 {
    bytes.withSpan { crc32(of: $0, continuing: crc) }
}

/// CRC-32 of two texts, one after the other.
///
/// - Parameter count: the number of bytes of the second text.
package func crc32(_ first: UInt32, followedBy second: UInt32, count: Int) -> UInt32 {
    UInt32(truncatingIfNeeded: crc32_combine(UInt(first), UInt(second), count))
}
