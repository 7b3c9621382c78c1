import RemoteSettingsModel

/// An advisory lock on a directory, so that two processes never work in it at the same time. It is released when this
/// object is deallocated, or when the process exits.
///
/// The lock is on the directory itself (`flock`), so it needs no lock file.
package final class DirectoryLock: Sendable {
    private let descriptor: Int32

    /// Locks the directory.
    ///
    /// - Returns: `nil` if another process has locked it.
    package init?(_ path: String) throws(Failure) {
        let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure("open the directory", path) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let error = Failure("lock the directory", path)
            close(descriptor)
            if error.errorNumber == EWOULDBLOCK { return nil }
            throw error
        }
        self.descriptor = descriptor
    }

    deinit {
        // Closing the descriptor is not enough: a child process that another thread has just forked keeps the directory
        // locked until it executes its program.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}
