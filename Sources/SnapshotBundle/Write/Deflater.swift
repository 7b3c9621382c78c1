import CZlib
import RemoteSettingsModel
import Synchronization

/// Compresses an entry's bytes with zlib.
///
/// Owns zlib's state, which is used again for one entry after the other, and frees it. Used by one thread at a time: by
/// who made it, or who took it out of a ``DeflaterPool``.
@safe
final class Deflater: @unchecked Sendable {
    /// zlib's highest: bundles are written once and read often.
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

    /// The whole stream of `bytes`, of at most 1 GiB; `nil` where it would not be smaller, which is given up on as soon
    /// as it shows.
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

    /// Deflates more bytes of the stream, and gives what comes out to `consume`.
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

/// Compressors for attachments that arrive side by side; each is used again, as to make one costs more than to compress
/// a small attachment.
package final class DeflaterPool: Sendable {
    /// What other compressed bytes may come with.
    package static var zlibVersion: String { unsafe String(cString: CZlib.zlibVersion()) }

    private let idle = Mutex<[Deflater]>([])

    package init() {}

    /// Makes contents ready for a bundle: deflated where that makes them smaller, else as they are.
    ///
    /// - Parameters:
    ///   - content: of at most 1 GiB.
    ///   - file: where it goes, for error messages.
    package func pack(_ content: Bytes, for file: String) throws(BundleError) -> (PackedContent, Bytes) {
        let deflater: Deflater
        if let known = idle.withLock({ $0.popLast() }) { deflater = known } else { deflater = try Deflater(file: file) }
        defer { idle.withLock { $0.append(deflater) } }
        return deflater.pack(content)
    }
}

extension Deflater {
    /// The contents as they lie in a bundle, by the rule of ``EntryWriter``.
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
