import RemoteSettingsModel

/// A file that is being written, or a buffer in its place. It computes the size and the SHA-256 of the written bytes.
/// It is not safe to use from several threads.
package final class OutputFile {
    package let name: String
    /// The file's descriptor; `nil` for a buffer in memory.
    private let descriptor: Int32?
    private var memory: [UInt8] = []
    package private(set) var size = 0
    private var hasher = ContentHasher()

    /// Writes to an open file.
    ///
    /// - Parameter descriptor: the file, which the caller must close.
    package init(descriptor: Int32, name: String) {
        self.descriptor = descriptor
        self.name = name
    }

    /// Writes to a buffer in memory.
    init(inMemory name: String) {
        descriptor = nil
        self.name = name
    }

    /// The written bytes, if there is no file.
    var bytes: Bytes { Bytes(memory) }

    func write(_ bytes: [UInt8]) throws(Failure) { try write(bytes.span) }

    /// Writes all of `bytes`.
    package func write(_ span: Span<UInt8>) throws(Failure) {
        try unsafe span.withUnsafeBytes { (bytes) throws(Failure) in try unsafe write(bytes) }
        size += span.count
        hasher.update(span)
    }

    private func write(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
        guard let descriptor else { return unsafe memory.append(contentsOf: bytes) }
        guard unsafe writeFully(descriptor, bytes) else {
            // The bytes may be in a mapped file that was truncated in the meantime.
            let isOfSource = errno == EFAULT
            throw Failure(
                isOfSource ? .usage : .storage, file: name,
                found: isOfSource
                    ? "the source was truncated while it was being copied" : "cannot write: \(lastSystemError())")
        }
    }

    func digest() -> SHA256Digest { hasher.finish() }

    /// Creates a new file, lets `body` write it, and flushes it to the disk. If that fails, the file is removed.
    ///
    /// - Parameter flushing: whether to wait until the file is on the disk. If not, call ``flush(path:)`` before
    ///   renaming the file to its final path.
    package static func create<Value>(
        path: String, flushing: Bool = true, _ body: (Int32) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        func failure(_ action: String) -> Failure {
            Failure(.storage, file: path, found: "cannot \(action) the file: \(lastSystemError())")
        }
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o644)
        guard descriptor >= 0 else { throw failure("create") }
        do throws(Failure) {
            let value = try body(descriptor)
            guard !flushing || fsync(descriptor) == 0 else { throw failure("flush") }
            close(descriptor)
            return value
        } catch {
            close(descriptor)
            _ = unsafe unlink(path)
            throw error
        }
    }

    /// Waits until a file that ``create(path:flushing:_:)`` has written is on the disk.
    package static func flush(path: String) throws(Failure) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        defer { if descriptor >= 0 { close(descriptor) } }
        guard descriptor >= 0, fsync(descriptor) == 0 else {
            throw Failure(.storage, file: path, found: "cannot flush the file to disk: \(lastSystemError())")
        }
    }
}
