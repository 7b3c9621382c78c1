import RemoteSettingsModel

/// A directory that only this user may enter. It is removed when nothing refers to it any more, or when the process
/// exits.
package final class TemporaryDirectory: Sendable {
    package let path: String

    /// Creates the directory. Does I/O. If that fails, later writes fail, and their errors name this path.
    package init(_ prefix: String) {
        _ = Self.removedAtExit
        path = (try? FileStore.makeTemporaryDirectory(prefix)) ?? "/dev/null/no-temporary-directory"
        Self.existing.withLock { _ = $0.insert(path) }
    }

    deinit {
        try? FileStore.removeTree(path)
        Self.existing.withLock { _ = $0.remove(path) }
    }

    private static let existing = Mutex<Set<String>>([])

    /// Removes all of them when the process exits, because many programs keep theirs until then, and an exit runs no
    /// `deinit`.
    private static let removedAtExit: Void = {
        atexit {
            // The second pass removes what another thread has written meanwhile.
            for path in TemporaryDirectory.existing.withLock({ $0 }) where (try? FileStore.removeTree(path)) == nil {
                try? FileStore.removeTree(path)
            }
        }
    }()
}
