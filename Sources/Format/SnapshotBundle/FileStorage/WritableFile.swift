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
    package convenience init(creating path: String, below root: String? = nil) throws(BundleError) {
        let place = try FilePlace(path, below: root, making: true)
        try self.init(place.beside(""))
    }

    init(_ place: (directory: Int32, name: String, path: String), mode: mode_t = 0o666) throws(BundleError) {
        path = place.path
        var status = stat()
        if unsafe fstatat(place.directory, place.name, &status, AT_SYMLINK_NOFOLLOW) == 0 {
            switch status.st_mode & S_IFMT {
            case S_IFREG:
                guard unsafe unlinkat(place.directory, place.name, 0) == 0 || errno == ENOENT else {
                    throw BundleError("remove", path)
                }
            case S_IFDIR: throw BundleError("create", path, errno: EISDIR)
            case S_IFLNK: throw BundleError("create", path, errno: BundleError.isLink)
            default: throw BundleError("use", path, errno: BundleError.notRegular)
            }
        } else if errno != ENOENT {
            throw BundleError("access", path)
        }
        descriptor = unsafe systemOpen(
            place.directory, place.name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw BundleError("create", path) }
    }

    /// Opens a file for appending, and creates it if it does not exist. A link at the path is not followed.
    package init(appendingTo path: String) throws(BundleError) {
        self.path = path
        descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o666)
        guard descriptor >= 0 else { throw BundleError("open", path) }
        _ = try FileStore.regularFile(descriptor, path)
    }

    deinit { abandon() }

    package func write(_ bytes: Bytes) throws(BundleError) {
        try unsafe bytes.withUnsafeBytes { (buffer) throws(BundleError) in try unsafe write(buffer) }
    }

    package func write(_ bytes: [UInt8]) throws(BundleError) { try write(bytes.span) }

    package func write(_ bytes: Span<UInt8>) throws(BundleError) {
        try unsafe bytes.withUnsafeBytes { (buffer) throws(BundleError) in try unsafe write(buffer) }
    }

    private func write(_ buffer: UnsafeRawBufferPointer) throws(BundleError) {
        guard unsafe writeFully(descriptor, buffer) else { throw BundleError("write", path) }
    }

    /// Empties the file and starts writing at its beginning again.
    package func restart() throws(BundleError) {
        guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else {
            throw BundleError("empty", path)
        }
    }

    /// Closes the file.
    ///
    /// - Parameter flushing: whether to wait until the content is on the disk.
    package func finish(flushing: Bool) throws(BundleError) {
        if flushing, systemFlush(descriptor) != 0 { throw BundleError("flush", path) }
        let result = close(descriptor)
        descriptor = -1
        guard result == 0 else { throw BundleError("close", path) }
    }

    /// Closes a file that will be discarded, and ignores errors.
    package func abandon() {
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }
}
