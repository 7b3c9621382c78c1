import CZlib

/// Compresses bytes to raw deflate streams (RFC 1951), one after the other.
///
/// It owns zlib's state, reuses it for each stream, and frees it. Only one thread at a time may use it.
@safe
package final class Deflater: @unchecked Sendable {
    // Allocated on the heap, because zlib keeps a pointer to it.
    private let stream: UnsafeMutablePointer<z_stream>
    private var scratch = [UInt8](repeating: 0, count: 64 << 10)

    /// Allocates zlib's state.
    ///
    /// - Parameter level: the compression level, from 1 (the fastest) to 9 (the smallest output).
    /// - Returns: `nil` if there is not enough memory.
    package init?(level: Int32) {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        guard unsafe rs_deflate_init_raw(stream, level) == Z_OK else {
            unsafe stream.deallocate()
            return nil
        }
        unsafe self.stream = unsafe stream
    }

    deinit {
        _ = unsafe deflateEnd(stream)
        unsafe stream.deallocate()
    }

    /// Begins a new stream.
    package func reset() {
        _ = unsafe deflateReset(stream)
    }

    /// Compresses `bytes`, at most 1 GiB, to a complete stream. Returns `nil` if the result would not be smaller.
    package func smaller(_ bytes: Bytes) -> [UInt8]? {
        guard bytes.count > 1, bytes.count <= 1 << 30 else { return nil }
        let (output, isWhole) = deflate(bytes, room: bytes.count - 1, Z_FINISH)
        return isWhole ? output : nil
    }

    /// Compresses a part of a stream without references to earlier parts. Such parts can be concatenated to a complete
    /// stream.
    ///
    /// - Parameters:
    ///   - bytes: at most 1 GiB.
    ///   - isLast: whether this is the last part. Every other part is terminated by an empty stored block, on a byte
    ///     boundary.
    package func block(_ bytes: Bytes, isLast: Bool) -> [UInt8] {
        // If the buffer is too small, zlib writes a second empty block. A generous size costs nothing, because unused
        // pages are never allocated.
        deflate(bytes, room: 2 * bytes.count + 1024, isLast ? Z_FINISH : Z_SYNC_FLUSH).output
    }

    /// Begins a new stream and compresses `bytes` in one call, to at most `room` bytes of output.
    private func deflate(_ bytes: Bytes, room: Int, _ flush: Int32) -> (output: [UInt8], isWhole: Bool) {
        reset()
        var isWhole = false
        let output = unsafe [UInt8](unsafeUninitializedCapacity: room) { output, count in
            unsafe bytes.withUnsafeBytes { input in
                unsafe stream.pointee.next_in = unsafe UnsafeMutablePointer(
                    mutating: input.bindMemory(to: UInt8.self).baseAddress)
                unsafe stream.pointee.avail_in = UInt32(clamping: input.count)
                unsafe stream.pointee.next_out = output.baseAddress
                unsafe stream.pointee.avail_out = UInt32(clamping: room)
                isWhole = unsafe CZlib.deflate(stream, flush) == Z_STREAM_END
                unsafe count = Int(UInt32(clamping: room) - stream.pointee.avail_out)
                unsafe stream.pointee.next_in = nil
                unsafe stream.pointee.avail_in = 0
                unsafe stream.pointee.next_out = nil
            }
        }
        return (output, isWhole)
    }

    /// Compresses more bytes of the stream and passes the output to `consume`.
    package func deflate<Failure: Error>(
        _ bytes: Span<UInt8>, to consume: (Span<UInt8>) throws(Failure) -> Void
    ) throws(Failure) {
        try unsafe bytes.withUnsafeBufferPointer { (input) throws(Failure) in
            var offset = 0
            while offset < input.count {
                let count = min(input.count - offset, 1 << 30)
                unsafe stream.pointee.next_in = unsafe UnsafeMutablePointer(
                    mutating: input.baseAddress.map { unsafe $0 + offset })
                unsafe stream.pointee.avail_in = UInt32(count)
                try drain(Z_NO_FLUSH, to: consume)
                offset += count
            }
            unsafe stream.pointee.next_in = nil
            unsafe stream.pointee.avail_in = 0
        }
    }

    /// Finishes the stream and passes the remaining output to `consume`.
    package func finish<Failure: Error>(to consume: (Span<UInt8>) throws(Failure) -> Void) throws(Failure) {
        try drain(Z_FINISH, to: consume)
    }

    private func drain<Failure: Error>(
        _ flush: Int32, to consume: (Span<UInt8>) throws(Failure) -> Void
    ) throws(Failure) {
        // Swap the buffer out of `self`, so that `consume` cannot cause an overlapping access to it.
        var output: [UInt8] = []
        swap(&output, &scratch)
        defer { swap(&output, &scratch) }
        var isFull = true
        while isFull {
            let count = unsafe output.withUnsafeMutableBufferPointer { output in
                unsafe stream.pointee.next_out = output.baseAddress
                unsafe stream.pointee.avail_out = UInt32(output.count)
                _ = unsafe CZlib.deflate(stream, flush)
                unsafe stream.pointee.next_out = nil
                return unsafe output.count - Int(stream.pointee.avail_out)
            }
            isFull = count == output.count
            if count > 0 { try consume(output.span.extracting(0..<count)) }
        }
    }
}
