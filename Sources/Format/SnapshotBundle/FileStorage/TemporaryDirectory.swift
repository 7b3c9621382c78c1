import RemoteSettingsModel

/// A directory that belongs to this process. It is deleted when the last reference to this object is released, or when
/// the process exits.
///
/// The process locks it (``DirectoryLock``) while it exists. If the process is killed, the system releases the lock,
/// and the next process that creates such a directory in the same place deletes this one. Process ids cannot be used
/// instead: they are reused, and each container has separate ones.
package final class TemporaryDirectory: Sendable {
    package let path: String
    private let lock: DirectoryLock

    /// Creates a directory that only this user can access, below ``FileStore/temporaryDirectory``. Does I/O.
    package convenience init() throws(Failure) {
        try self.init("\(FileStore.temporaryDirectory)/remote-settings", mode: 0o700)
    }

    /// Creates a directory next to a path, for files that will be renamed to that path. Does I/O.
    package convenience init(beside path: String) throws(Failure) {
        try self.init(path, mode: 0o777)
    }

    private init(_ prefix: String, mode: mode_t) throws(Failure) {
        _ = Self.removedAtExit
        Self.removeAbandoned(prefix)
        for _ in 0..<100 {
            let path = try FileStore.makeUniqueDirectory(prefix, ending: Self.ending, mode: mode)
            // Another process may consider the directory abandoned and delete it before it is locked. In that case, try
            // again.
            if let lock = (try? DirectoryLock(path)) ?? nil, try FileStore.isDirectory(path) {
                (self.path, self.lock) = (path, lock)
                Self.existing.withLock { _ = $0.insert(path) }
                return
            }
        }
        throw Failure("lock a new directory beside", prefix, errno: EWOULDBLOCK)
    }

    deinit {
        try? FileStore.removeTree(path)
        Self.existing.withLock { _ = $0.remove(path) }
    }

    private static let ending = ".tmp"

    /// Deletes the directories whose processes were killed. Files that cannot be deleted remain until the next call.
    private static func removeAbandoned(_ prefix: String) {
        let parent = FileStore.parent(of: prefix)
        let start = FileStore.components(of: prefix).last.map { Array("\($0).".utf8) } ?? []
        for name in (try? FileStore.list(parent, isLossy: true)) ?? [] {
            let end = name.utf8.dropFirst(start.count)
            guard name.utf8.starts(with: start), end.count == 16 + ending.utf8.count,
                end.prefix(16).allSatisfy({ "0123456789abcdef".utf8.contains($0) }),
                end.dropFirst(16).elementsEqual(ending.utf8)
            else { continue }
            let path = "\(parent)/\(name)"
            // Never delete another user's directory: its owner could keep adding files, so that deleting never
            // finishes.
            guard (try? FileStore.isOwnDirectory(path)) == true, let lock = (try? DirectoryLock(path)) ?? nil else {
                continue
            }
            withExtendedLifetime(lock) { try? FileStore.removeTree(path) }
        }
    }

    private static let existing = Mutex<Set<String>>([])

    /// Deletes all directories when the process exits. Many programs keep a reference until then, and `deinit` does not
    /// run at exit.
    private static let removedAtExit: Void = {
        atexit {
            // The second attempt deletes files that another thread has written in the meantime.
            for path in TemporaryDirectory.existing.withLock({ $0 }) where (try? FileStore.removeTree(path)) == nil {
                try? FileStore.removeTree(path)
            }
        }
    }()
}
