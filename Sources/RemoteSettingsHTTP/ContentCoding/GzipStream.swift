import CZlib

/// Decompresses gzip, one or several members behind each other, in pieces of bounded size.
@safe
final class GzipStream {
    struct Damaged: Error, CustomStringConvertible {
        let description: String
    }

    static let pieceSize = 64 << 10

    // zlib keeps the address of the stream, so that it must not move.
    private let stream: UnsafeMutablePointer<z_stream>
    private var input: [UInt8] = []
    private var consumed = 0
    private var hasMoreOutput = false

    /// Whether the input so far is a whole number of members.
    private(set) var isAtEnd = true

    /// `nil` where zlib cannot allocate its state.
    init?() {
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        // 16 more than the window's size makes zlib expect a gzip header and check the CRC.
        let status = unsafe inflateInit2_(stream, 16 + MAX_WBITS, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard status == Z_OK else {
            unsafe stream.deallocate()
            return nil
        }
    }

    deinit {
        unsafe inflateEnd(stream)
        unsafe stream.deallocate()
    }

    /// Gives the next compressed bytes, once ``next()`` has answered `nil`.
    func feed(_ bytes: [UInt8]) {
        input = bytes
        consumed = 0
    }

    /// The next decompressed bytes, at most ``pieceSize`` of them; `nil` where more input is needed.
    func next() throws(Damaged) -> [UInt8]? {
        while hasMoreOutput || consumed < input.count {
            if isAtEnd {
                isAtEnd = false
                unsafe inflateReset(stream)
            }
            var status = Z_OK
            let piece = unsafe [UInt8](unsafeUninitializedCapacity: Self.pieceSize) { output, count in
                unsafe input.withUnsafeMutableBufferPointer { bytes in
                    unsafe stream.pointee.next_in = bytes.baseAddress.map { unsafe $0 + consumed }
                    unsafe stream.pointee.avail_in = UInt32(bytes.count - consumed)
                    unsafe stream.pointee.next_out = output.baseAddress
                    unsafe stream.pointee.avail_out = UInt32(output.count)
                    status = unsafe inflate(stream, Z_NO_FLUSH)
                    unsafe consumed = bytes.count - Int(stream.pointee.avail_in)
                    unsafe count = output.count - Int(stream.pointee.avail_out)
                    unsafe stream.pointee.next_in = nil
                    unsafe stream.pointee.next_out = nil
                }
            }
            switch status {
            case Z_OK:
                hasMoreOutput = piece.count == Self.pieceSize
            case Z_STREAM_END:
                isAtEnd = true
                hasMoreOutput = false
            // No progress was possible: all output had been given already.
            case Z_BUF_ERROR where consumed == input.count:
                hasMoreOutput = false
            default:
                throw Damaged(description: "the gzip data is damaged (zlib \(status))")
            }
            if !piece.isEmpty { return piece }
        }
        return nil
    }
}
