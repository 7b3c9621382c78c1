import CZlib

/// Decompresses one deflate stream, at once or in steps.
///
/// It owns zlib's state and frees it. It is not safe to use from several threads.
@safe
package final class Inflater {
    /// The wrapper around the compressed bytes.
    package enum Format {
        /// No wrapper (RFC 1951).
        case raw
        /// A gzip header, and a trailer with a checksum (RFC 1952). zlib checks both.
        case gzip
    }

    /// The numbers of bytes that one call consumed and produced.
    package struct Step {
        package let consumed: Int
        package let produced: Int
        /// Whether the end of the stream was reached.
        package let isEnd: Bool
    }

    /// The approximate memory that zlib uses for one stream, in bytes: a window of 32 KiB, and 7 KiB (`zconf.h`).
    package static let memoryBytes = 40 << 10

    // Allocated on the heap, because zlib keeps a pointer to it.
    private let stream: UnsafeMutablePointer<z_stream>

    package init(_ format: Format = .raw) throws(Failure) {
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

    /// Decompresses a whole raw stream of exactly `size` bytes into a new array, without an intermediate buffer.
    package static func inflate(_ input: Bytes, size: Int) throws(Failure) -> [UInt8] {
        let inflater = try Inflater()
        return try unsafe inflater.filling(size) { (buffer) throws(Failure) in
            try unsafe inflater.run(input, into: buffer)
        }
    }

    private func run(_ input: Bytes, into buffer: UnsafeMutableRawBufferPointer) throws(Failure) -> Int {
        var (consumed, produced) = (0, 0)
        // zlib's counters have 32 bits. It reports the end of the stream only if there is space for one more byte.
        var spare: UInt8 = 0
        while true {
            let room = buffer.count - produced
            let step: Step
            if room > 0 {
                step = try unsafe inflate(
                    input, from: consumed,
                    into: UnsafeMutableRawBufferPointer(rebasing: buffer[produced...]))
            } else {
                step = try unsafe withUnsafeMutableBytes(of: &spare) { (last) throws(Failure) in
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

    /// Decompresses as much as fits into `buffer`.
    ///
    /// - Parameter offset: the number of bytes of `input` that have already been consumed.
    package func inflate(_ input: Bytes, from offset: Int, into buffer: inout [UInt8]) throws(Failure) -> Step {
        var span = buffer.mutableSpan
        return try unsafe span.withUnsafeMutableBytes { (buffer) throws(Failure) in
            try unsafe inflate(input, from: offset, into: buffer)
        }
    }

    /// Decompresses at most `size` bytes into a new array.
    ///
    /// - Parameter offset: the number of bytes of `input` that have already been consumed.
    func piece(of input: Bytes, from offset: Int, size: Int) throws(Failure) -> (bytes: [UInt8], step: Step) {
        var step = Step(consumed: 0, produced: 0, isEnd: false)
        let bytes = try unsafe filling(size) { (buffer) throws(Failure) in
            step = try unsafe inflate(input, from: offset, into: buffer)
            return step.produced
        }
        return (bytes, step)
    }

    /// Returns a new array of at most `size` bytes. `body` writes the bytes and returns their number.
    private func filling(
        _ size: Int, _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) -> [UInt8] {
        var failure: Failure?
        let output = unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            do throws(Failure) {
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
    ) throws(Failure) -> Step {
        // Limit each step so that the sizes fit into 32 bits.
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

/// Returns the CRC-32 (ITU-T V.42) of bytes, as used by ZIP and gzip.
///
/// - Parameter crc: the checksum of the preceding bytes.
package func crc32(of bytes: Span<UInt8>, continuing crc: UInt32 = 0) -> UInt32 {
    unsafe bytes.withUnsafeBufferPointer { buffer in
        unsafe UInt32(truncatingIfNeeded: crc32_z(UInt(crc), buffer.baseAddress, buffer.count))
    }
}

/// Returns the CRC-32 of bytes; see ``crc32(of:continuing:)-(Span<UInt8>,_)``.
package func crc32(of bytes: Bytes, continuing crc: UInt32 = 0) -> UInt32 {
    bytes.withSpan { crc32(of: $0, continuing: crc) }
}

/// Returns the CRC-32 of two concatenated byte sequences, from their checksums.
///
/// - Parameter count: the number of bytes of the second sequence.
package func crc32(_ first: UInt32, followedBy second: UInt32, count: Int) -> UInt32 {
    UInt32(truncatingIfNeeded: crc32_combine(UInt(first), UInt(second), count))
}
