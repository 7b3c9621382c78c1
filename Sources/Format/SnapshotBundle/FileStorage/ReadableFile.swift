import RemoteSettingsModel

/// A regular file that is open for reading. It is closed when the last reference is released.
final class ReadableFile {
    let path: String
    let descriptor: Int32
    private(set) var status = stat()

    /// Opens a file.
    ///
    /// - Throws: ``Failure`` if it does not exist, or if it is a pipe, a device or a directory.
    init(_ path: String) throws(Failure) {
        self.path = path
        // Without O_NONBLOCK, opening a pipe would wait for a writer.
        descriptor = unsafe systemOpen(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Failure("open", path) }
        status = try FileStore.regularFile(descriptor, path)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Opens a file if it exists.
    ///
    /// - Returns: `nil` if it does not exist.
    static func existing(_ path: String) throws(Failure) -> ReadableFile? {
        do throws(Failure) {
            return try ReadableFile(path)
        } catch {
            guard error.isMissing else { throw error }
            return nil
        }
    }

    /// The size in bytes when the file was opened.
    var size: Int { Int(clamping: status.st_size) }

    /// Returns the next `count` bytes, or fewer at the end of the file.
    func next(_ count: Int) throws(Failure) -> [UInt8] {
        var failure: Failure?
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            let read = unsafe readFully(
                descriptor, into: UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: count))
            if read == nil { failure = Failure("read", path) }
            filled = read ?? 0
        }
        if let failure { throw failure }
        return bytes
    }

    /// Fills `piece` with the next bytes.
    ///
    /// - Returns: the number of bytes that were read, which is smaller than the size of `piece` at the end of the file.
    func next(into piece: inout [UInt8]) throws(Failure) -> Int {
        guard let count = unsafe piece.withUnsafeMutableBytes({ unsafe readFully(descriptor, into: $0) }) else {
            throw Failure("read", path)
        }
        return count
    }
}

extension Failure {
    /// Calls `read`, which reads a bundle or a file to be packed, and converts its errors to `unreadable` ones.
    static func reading<Value>(entry: String? = nil, _ read: () throws(Failure) -> Value) throws(Failure) -> Value {
        return try mapFailure(of: try read()) {
            Failure.unreadable(
                $0.place, entry: entry, found: $0.isWrongKind ? "it is not a regular file" : $0.problem,
                errorNumber: $0.errorNumber)
        }
    }
}
