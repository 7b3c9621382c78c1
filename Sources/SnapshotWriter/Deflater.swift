import CZlib
import RemoteSettingsModel

/// Finds out how small bytes become, by deflating them with the settings that the archive is written with.
///
/// Owns zlib's state, which is used again for one entry after the other, and frees it. Not shared between threads.
@safe
final class Deflater {
    /// zlib's highest: bundles are written once and read often.
    static let level: Int32 = 9

    // On the heap, because zlib keeps a pointer to it.
    private let stream: UnsafeMutablePointer<z_stream>
    private var scratch = [UInt8](repeating: 0, count: 64 << 10)

    /// - Returns: `nil` where there is too little memory.
    init?(level: Int32 = Deflater.level) {
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
    func reset() {
        _ = unsafe deflateReset(stream)
    }

    /// Whether deflating makes `bytes` smaller. Stops as soon as it does not.
    func shrinks(_ bytes: Bytes) -> Bool {
        reset()
        var size = 0
        bytes.withSpan { size += deflate($0, isLast: true, limit: bytes.count) }
        return size < bytes.count
    }

    /// Whether deflating makes `bytes` smaller by an eighth or more.
    func shrinksByAnEighth(_ bytes: Bytes) -> Bool {
        reset()
        let most = bytes.count - bytes.count / 8
        return bytes.withSpan { deflate($0, isLast: true, limit: most + 1) } <= most
    }

    /// Deflates more bytes of the stream.
    ///
    /// - Parameters:
    ///   - isLast: whether the stream ends with these bytes.
    ///   - limit: gives up after so many bytes have come out.
    /// - Returns: how many bytes came out.
    func deflate(_ bytes: Span<UInt8>, isLast: Bool, limit: Int = .max) -> Int {
        var produced = 0
        unsafe bytes.withUnsafeBufferPointer { input in
            var offset = 0
            repeat {
                let count = min(input.count - offset, 1 << 30)
                let flush = isLast && offset + count == input.count ? Z_FINISH : Z_NO_FLUSH
                unsafe stream.pointee.next_in = unsafe UnsafeMutablePointer(
                    mutating: input.baseAddress.map { unsafe $0 + offset })
                unsafe stream.pointee.avail_in = UInt32(count)
                produced += drain(flush, limit: limit - produced)
                offset += count
            } while offset < input.count && produced < limit
            unsafe stream.pointee.next_in = nil
            unsafe stream.pointee.avail_in = 0
        }
        return produced
    }

    private func drain(_ flush: Int32, limit: Int) -> Int {
        var produced = 0
        unsafe scratch.withUnsafeMutableBufferPointer { output in
            repeat {
                unsafe stream.pointee.next_out = output.baseAddress
                unsafe stream.pointee.avail_out = UInt32(output.count)
                _ = unsafe CZlib.deflate(stream, flush)
                unsafe produced += output.count - Int(stream.pointee.avail_out)
            } while unsafe stream.pointee.avail_out == 0 && produced < limit
            unsafe stream.pointee.next_out = nil
        }
        return produced
    }
}
