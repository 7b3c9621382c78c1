import LibC

/// An advisory lock on a directory, so that two refreshes never work in it at once. It ends with the process.
///
/// The lock is on the directory itself (`flock`), so it makes no file and leaves none behind.
package final class DirectoryLock {
    private let descriptor: Int32

    /// - Returns: `nil` if another process holds the lock.
    package init?(_ path: String) throws(FileError) {
        let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileError("open the directory", path) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let error = FileError("lock the directory", path)
            close(descriptor)
            if error.code == EWOULDBLOCK { return nil }
            throw error
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }
}

/// An advisory lock on a file that is this process's standard input.
///
/// Programs that inherit it hold the lock until they end, even if this process is killed before them.
package enum StandardInputLock {
    /// Takes the lock until this process and those programs have ended. A missing file is made; it has no content.
    ///
    /// - Returns: `false` if another process holds the lock.
    package static func take(_ path: String) throws(FileError) -> Bool {
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw FileError("open", path) }
        defer { close(descriptor) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let error = FileError("lock", path)
            if error.code == EWOULDBLOCK { return false }
            throw error
        }
        guard dup2(descriptor, 0) == 0 else { throw FileError("use as standard input", path) }
        return true
    }
}
