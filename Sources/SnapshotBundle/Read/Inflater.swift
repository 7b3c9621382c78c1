import CZlib
import RemoteSettingsModel

/// Why a deflate stream was refused.
enum InflateError: Error, Hashable {
    case corrupt
    /// The stream has more than it should.
    case tooLong
    /// The stream, or the file, ends before it should.
    case tooShort
    /// There are bytes behind the end of the stream.
    case trailingBytes
    case outOfMemory

    var found: String {
        switch self {
        case .corrupt: "a corrupt stream"
        case .tooLong: "more"
        case .tooShort: "less"
        case .trailingBytes: "bytes behind the end of the stream"
        case .outOfMemory: "too little memory to inflate it"
        }
    }
}

/// One raw deflate stream (RFC 1951) that is being inflated.
///
/// Owns zlib's state and frees it. Not shared between threads.
@safe
final class Inflater {
    // On the heap, because zlib keeps a pointer to it.
    private let stream: UnsafeMutablePointer<z_stream>

    init() throws(InflateError) {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        guard unsafe rs_inflate_init_raw(stream) == Z_OK else {
            unsafe stream.deallocate()
            throw .outOfMemory
        }
        unsafe self.stream = unsafe stream
    }

    deinit {
        _ = unsafe inflateEnd(stream)
        unsafe stream.deallocate()
    }

    /// Inflates a whole stream of exactly `size` bytes into a new array, without any other buffer.
    static func inflate(_ input: Bytes, size: Int) throws(InflateError) -> [UInt8] {
        let inflater = try Inflater()
        var failure: InflateError?
        let output = unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            do throws(InflateError) {
                let filled = try unsafe inflater.run(input, into: UnsafeMutableRawBufferPointer(buffer))
                count = filled
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return output
    }

    private func run(_ input: Bytes, into buffer: UnsafeMutableRawBufferPointer) throws(InflateError) -> Int {
        var (consumed, produced) = (0, 0)
        // zlib counts in 32 bits; and its end is only reached when it may write one byte more than it has.
        var spare: UInt8 = 0
        while true {
            let room = buffer.count - produced
            let step: Step
            if room > 0 {
                step = try unsafe inflate(
                    input, from: consumed, into: UnsafeMutableRawBufferPointer(rebasing: buffer[produced...]))
            } else {
                step = try unsafe withUnsafeMutableBytes(of: &spare) { (last) throws(InflateError) in
                    try unsafe inflate(input, from: consumed, into: last)
                }
                guard step.produced == 0 else { throw .tooLong }
            }
            consumed += step.consumed
            produced += step.produced
            if step.isEnd {
                guard consumed == input.count else { throw .trailingBytes }
                guard produced == buffer.count else { throw .tooShort }
                return produced
            }
            guard step.consumed > 0 || step.produced > 0 else { throw .tooShort }
        }
    }

    struct Step {
        let consumed: Int
        let produced: Int
        let isEnd: Bool
    }

    /// Inflates as much as fits into `buffer`.
    ///
    /// - Parameter offset: how much of `input` was consumed before.
    func inflate(_ input: Bytes, from offset: Int, into buffer: inout [UInt8]) throws(InflateError) -> Step {
        var span = buffer.mutableSpan
        return try unsafe span.withUnsafeMutableBytes { (buffer) throws(InflateError) in
            try unsafe inflate(input, from: offset, into: buffer)
        }
    }

    private func inflate(
        _ input: Bytes, from offset: Int, into buffer: UnsafeMutableRawBufferPointer
    ) throws(InflateError) -> Step {
        // Bounded pieces, so that 32 bits always hold their size.
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
        default: throw .corrupt
        }
    }
}

/// CRC-32 of more bytes, given that of those before them (0 at the start).
package func checksum(_ crc: UInt32, _ bytes: Span<UInt8>) -> UInt32 {
    unsafe bytes.withUnsafeBufferPointer { buffer in
        unsafe UInt32(truncatingIfNeeded: crc32_z(UInt(crc), buffer.baseAddress, buffer.count))
    }
}
