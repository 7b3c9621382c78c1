import CZlib
import RemoteSettingsModel
import SnapshotBundle

/// A gzip member (RFC 1952) around a raw deflate stream.
enum GzipMember {
    /// No name, no time, an unknown system: the same bytes everywhere.
    private static let header = Bytes([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255])

    /// Wraps a stream that exists already; copies nothing of it.
    static func wrap(_ deflated: Bytes, crc: UInt32, size: Int) -> [Bytes] {
        var trailer: [UInt8] = []
        for value in [crc, UInt32(truncatingIfNeeded: size)] {
            for shift in [0, 8, 16, 24] as [UInt32] { trailer.append(UInt8(truncatingIfNeeded: value >> shift)) }
        }
        return [header, deflated, Bytes(trailer)]
    }

    /// Compresses bytes once, to be sent often. `nil` where there is too little memory.
    static func compress(_ segments: [Bytes], level: Int32 = 6) -> Bytes? {
        let size = segments.reduce(0) { $0 + $1.count }
        var crc: UInt32 = 0
        for segment in segments { crc = crc32(of: segment, continuing: crc) }
        var stream = unsafe z_stream()
        return unsafe withUnsafeMutablePointer(to: &stream) { stream -> Bytes? in
            guard unsafe rs_deflate_init_raw(stream, level) == Z_OK else { return nil }
            defer { _ = unsafe deflateEnd(stream) }
            var output: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            for index in 0...segments.count {
                let input = index < segments.count ? segments[index] : Bytes()
                unsafe input.withUnsafeBytes { source in
                    unsafe feed(
                        stream, source, flush: index < segments.count ? Z_NO_FLUSH : Z_FINISH, &buffer, &output)
                }
            }
            let parts = wrap(Bytes(output), crc: crc, size: size)
            return Bytes(parts.flatMap(\.array))
        }
    }

    private static func feed(
        _ stream: UnsafeMutablePointer<z_stream>, _ source: UnsafeRawBufferPointer, flush: Int32,
        _ buffer: inout [UInt8], _ output: inout [UInt8]
    ) {
        var offset = 0
        repeat {
            // zlib counts in 32 bits.
            let count = min(source.count - offset, 1 << 30)
            unsafe stream.pointee.next_in = unsafe UnsafeMutablePointer(
                mutating: source.bindMemory(to: UInt8.self).baseAddress.map { unsafe $0 + offset })
            unsafe stream.pointee.avail_in = UInt32(count)
            offset += count
            var isFull = true
            while isFull {
                let produced = unsafe buffer.withUnsafeMutableBufferPointer { target -> Int in
                    unsafe stream.pointee.next_out = target.baseAddress
                    unsafe stream.pointee.avail_out = UInt32(target.count)
                    _ = unsafe deflate(stream, offset < source.count ? Z_NO_FLUSH : flush)
                    return unsafe target.count - Int(stream.pointee.avail_out)
                }
                output.append(contentsOf: buffer[..<produced])
                isFull = produced == buffer.count
            }
        } while offset < source.count
        unsafe stream.pointee.next_in = nil
        unsafe stream.pointee.next_out = nil
    }
}
