import RemoteSettingsModel
import SnapshotBundle
import SnapshotWriter
import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The small attachments of one collection that have arrived and wait to be packed, one behind the other in one file:
/// to create a file for each takes longer than to download it.
///
/// Each has in front of it its SHA-256 and its size, 8 bytes, lowest first. What an interrupted refresh left is hashed
/// again before it is used; a last one that is cut off is overwritten.
final class StagedAttachments: Sendable {
    private static let headSize = 40

    private struct State {
        var descriptor: Int32 = -1
        var end = 0
        var places: [SHA256Digest: Range<Int>]
    }

    private let path: String
    private let state: Mutex<State>

    /// Reads what is there. Does I/O.
    ///
    /// - Throws: ``FileError``, or `BundleError` where the file cannot be read.
    init(path: String) throws {
        self.path = path
        var places: [SHA256Digest: Range<Int>] = [:]
        var end = 0
        if let size = FileStore.size(path), size > 0 {
            let bytes = try MappedFile(path: path).bytes
            while let (digest, place) = Self.entry(in: bytes, at: end) {
                if SHA256Digest(hashing: bytes[place]) == digest { places[digest] = place }
                end = place.upperBound
            }
        }
        state = Mutex(State(end: end, places: places))
    }

    deinit {
        state.withLock { state in
            if state.descriptor >= 0 { close(state.descriptor) }
        }
    }

    private static func entry(in bytes: Bytes, at offset: Int) -> (SHA256Digest, Range<Int>)? {
        guard bytes.count - offset >= headSize, let digest = SHA256Digest(bytes[offset..<offset + 32].array) else {
            return nil
        }
        let size = bytes[offset + 32..<offset + headSize].array.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let start = offset + headSize
        guard size <= UInt64(bytes.count - start) else { return nil }
        return (digest, start..<start + Int(size))
    }

    /// Where an attachment's bytes are; `nil` where they have not arrived.
    func source(of digest: SHA256Digest, size: Int) -> AttachmentSource? {
        guard let place = state.withLock({ $0.places[digest] }), place.count == size else { return nil }
        return .part(path: path, offset: place.lowerBound)
    }

    /// Appends an attachment, whose hash the caller has checked. Not flushed to the disk: what is found later is hashed.
    func append(_ content: Bytes, as digest: SHA256Digest) throws(FileError) {
        var entry: [UInt8] = []
        entry.reserveCapacity(Self.headSize + content.count)
        entry += digest.bytes
        unsafe withUnsafeBytes(of: UInt64(content.count).littleEndian) { unsafe entry.append(contentsOf: $0) }
        unsafe content.withUnsafeBytes { unsafe entry.append(contentsOf: $0) }
        try state.withLock { (state) throws(FileError) in
            if state.descriptor < 0 {
                state.descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o666)
                guard state.descriptor >= 0 else { throw FileError("create", path) }
            }
            try unsafe entry.span.withUnsafeBytes { (bytes) throws(FileError) in
                try unsafe write(bytes, to: state.descriptor, at: state.end)
            }
            let start = state.end + Self.headSize
            state.places[digest] = start..<start + content.count
            state.end = start + content.count
        }
    }

    private func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int) throws(FileError) {
        var written = 0
        while written < bytes.count {
            let count = unsafe pwrite(
                descriptor, bytes.baseAddress.map { unsafe $0 + written }, bytes.count - written,
                off_t(offset + written))
            if count < 0 {
                if errno == EINTR { continue }
                throw FileError("write", path)
            }
            written += count
        }
    }
}
