import RemoteSettingsModel

/// An advisory lock on a directory, so that two refreshes never work in it at once. It is released when the process
/// ends.
///
/// The lock is on the directory itself (`flock`), so it creates no file and leaves none behind.
package final class DirectoryLock: Sendable {
    private let descriptor: Int32

    /// Takes the lock.
    ///
    /// - Returns: `nil` if another process holds the lock.
    package init?(_ path: String) throws(BundleError) {
        let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw BundleError("open the directory", path) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let error = BundleError("lock the directory", path)
            close(descriptor)
            if error.errorNumber == EWOULDBLOCK { return nil }
            throw error
        }
        self.descriptor = descriptor
    }

    deinit {
        // Closing is not enough: a child process that another thread has just forked also holds the lock until it
        // starts its program.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}
