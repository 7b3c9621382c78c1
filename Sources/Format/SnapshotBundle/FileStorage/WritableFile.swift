import RemoteSettingsModel

/// A file that is open for writing.
package final class WritableFile {
    private let path: String
    private var descriptor: Int32

    /// Creates a file. An existing regular file is removed first, so that its other hard links do not change. Anything
    /// else at the path is an error.
    ///
    /// - Parameter root: a directory that the user has specified, if `path` is below one. Below it, no link is
    ///   followed, and missing directories are created.
    package convenience init(creating path: String, below root: String? = nil) throws(Failure) {
        let place = try FilePlace(path, below: root, making: true)
        try self.init(place.beside(""))
    }

    init(_ place: (directory: Int32, name: String, path: String), mode: mode_t = 0o666) throws(Failure) {
        path = place.path
        var status = stat()
        if unsafe fstatat(place.directory, place.name, &status, AT_SYMLINK_NOFOLLOW) == 0 {
            switch status.st_mode & S_IFMT {
            case S_IFREG:
                guard unsafe unlinkat(place.directory, place.name, 0) == 0 || errno == ENOENT else {
                    throw Failure("remove", path)
                }
            case S_IFDIR: throw Failure("create", path, errno: EISDIR)
            case S_IFLNK: throw Failure("create", path, errno: Failure.isLink)
            default: throw Failure("use", path, errno: Failure.notRegular)
            }
        } else if errno != ENOENT {
            throw Failure("access", path)
        }
        descriptor = unsafe systemOpen(
            place.directory, place.name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw Failure("create", path) }
    }

    /// Opens a file for appending, and creates it if it does not exist. A link at the path is not followed.
    package init(appendingTo path: String) throws(Failure) {
        self.path = path
        descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o666)
        guard descriptor >= 0 else { throw Failure("open", path) }
        _ = try FileStore.regularFile(descriptor, path)
    }

    deinit { abandon() }

    package func write(_ bytes: Bytes) throws(Failure) {
        try unsafe bytes.withUnsafeBytes { (buffer) throws(Failure) in try unsafe write(buffer) }
    }

    package func write(_ bytes: [UInt8]) throws(Failure) { try write(bytes.span) }

    package func write(_ bytes: Span<UInt8>) throws(Failure) {
        try unsafe bytes.withUnsafeBytes { (buffer) throws(Failure) in try unsafe write(buffer) }
    }

    private func write(_ buffer: UnsafeRawBufferPointer) throws(Failure) {
        guard unsafe writeFully(descriptor, buffer) else { throw Failure("write", path) }
    }

    /// Empties the file and starts writing at its beginning again.
    package func restart() throws(Failure) {
        guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else { throw Failure("empty", path) }
    }

    /// Closes the file.
    ///
    /// - Parameter flushing: whether to wait until the content is on the disk.
    package func finish(flushing: Bool) throws(Failure) {
        if flushing, systemFlush(descriptor) != 0 { throw Failure("flush", path) }
        let result = close(descriptor)
        descriptor = -1
        guard result == 0 else { throw Failure("close", path) }
    }

    /// Closes a file that will be discarded, and ignores errors.
    package func abandon() {
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }
}
