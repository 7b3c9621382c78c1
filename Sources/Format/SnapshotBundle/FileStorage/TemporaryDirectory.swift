import RemoteSettingsModel

/// A directory that only this user may enter. It is removed with its last holder, or when the process exits.
package final class TemporaryDirectory: Sendable {
    package let path: String

    /// Does I/O. If no directory can be made, nothing is stored, and the errors of writing name this path.
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

    /// Many programs hold theirs until they exit, and an exit ends no holder.
    private static let removedAtExit: Void = {
        atexit {
            // A second time, for what another thread has written meanwhile.
            for path in TemporaryDirectory.existing.withLock({ $0 }) where (try? FileStore.removeTree(path)) == nil {
                try? FileStore.removeTree(path)
            }
        }
    }()
}
