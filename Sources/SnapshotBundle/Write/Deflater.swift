import CZlib
import RemoteSettingsModel
import Synchronization

/// Compresses an entry's bytes with zlib.
///
/// Owns zlib's state, which serves one entry after the other, and frees it. Only one thread at a time may use it: its owner,
/// or the thread that took it out of a ``DeflaterPool``.
@safe
final class Deflater: @unchecked Sendable {
    /// zlib's highest level, because bundles are written once and read often.
    static let level: Int32 = 9

    // On the heap, because zlib keeps a pointer to it.
    private let stream: UnsafeMutablePointer<z_stream>
    private var scratch = [UInt8](repeating: 0, count: 64 << 10)

    /// - Throws: ``BundleError`` where there is too little memory.
    init(file: String) throws(BundleError) {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        guard unsafe rs_deflate_init_raw(stream, Self.level) == Z_OK else {
            unsafe stream.deallocate()
            throw BundleError(.unwritable, file: file, expected: "memory for a compressor", found: "too little")
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

    /// The deflate stream of at most 1 GiB of `bytes`; `nil` if it would not be smaller than they are.
    func smaller(_ bytes: Bytes) -> [UInt8]? {
        guard bytes.count > 1, bytes.count <= 1 << 30 else { return nil }
        reset()
        var isComplete = false
        let output = unsafe [UInt8](unsafeUninitializedCapacity: bytes.count - 1) { output, count in
            unsafe bytes.withUnsafeBytes { input in
                unsafe stream.pointee.next_in = unsafe UnsafeMutablePointer(
                    mutating: input.bindMemory(to: UInt8.self).baseAddress)
                unsafe stream.pointee.avail_in = UInt32(input.count)
                unsafe stream.pointee.next_out = output.baseAddress
                unsafe stream.pointee.avail_out = UInt32(output.count)
                isComplete = unsafe CZlib.deflate(stream, Z_FINISH) == Z_STREAM_END
                unsafe count = output.count - Int(stream.pointee.avail_out)
                unsafe stream.pointee.next_in = nil
                unsafe stream.pointee.avail_in = 0
                unsafe stream.pointee.next_out = nil
            }
        }
        return isComplete ? output : nil
    }

    /// Deflates more bytes of the stream, and passes the output to `consume`.
    func deflate(
        _ bytes: Span<UInt8>, to consume: (Span<UInt8>) throws(BundleError) -> Void
    ) throws(BundleError) {
        try unsafe bytes.withUnsafeBufferPointer { (input) throws(BundleError) in
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

    /// Ends the stream.
    func finish(to consume: (Span<UInt8>) throws(BundleError) -> Void) throws(BundleError) {
        try drain(Z_FINISH, to: consume)
    }

    private func drain(
        _ flush: Int32, to consume: (Span<UInt8>) throws(BundleError) -> Void
    ) throws(BundleError) {
        // Taken out meanwhile, so that it is not in use while `consume` has it.
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

/// Compressors for attachments that are downloaded concurrently. They are reused, because making one costs more than
/// compressing a small attachment.
package final class DeflaterPool: Sendable {
    /// The version of zlib: another one may compress differently.
    package static var zlibVersion: String { unsafe String(cString: CZlib.zlibVersion()) }

    private let idle = Mutex<[Deflater]>([])

    package init() {}

    /// Packs contents for a bundle: deflated if that makes them smaller, stored otherwise.
    ///
    /// - Parameters:
    ///   - content: at most 1 GiB.
    ///   - file: the name for error messages.
    package func pack(_ content: Bytes, for file: String) throws(BundleError) -> (PackedContent, Bytes) {
        let deflater: Deflater
        if let known = idle.withLock({ $0.popLast() }) { deflater = known } else { deflater = try Deflater(file: file) }
        defer { idle.withLock { $0.append(deflater) } }
        return deflater.pack(content)
    }
}

extension Deflater {
    /// Packs contents by the rule of ``EntryWriter``.
    func pack(_ content: Bytes, isStored: Bool = false) -> (PackedContent, Bytes) {
        let crc = content.withSpan { checksum(0, $0) }
        let isHopeless =
            isStored || content.count > EntryWriter.wholeTrial && smaller(content[0..<EntryWriter.prefixTrial]) == nil
        guard !isHopeless, let deflated = smaller(content) else {
            return (PackedContent(isStored: true, size: content.count, packedSize: content.count, crc: crc), content)
        }
        return (
            PackedContent(isStored: false, size: content.count, packedSize: deflated.count, crc: crc), Bytes(deflated)
        )
    }
}
