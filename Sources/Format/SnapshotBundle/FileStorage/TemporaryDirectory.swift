import RemoteSettingsModel

/// A directory that this process owns. It is removed when nothing refers to it any more, or when the process exits.
///
/// The owner locks it (``DirectoryLock``) for as long as it exists. If the process is killed, the system releases the
/// lock, and the next process that makes such a directory at the same place removes this one. Process ids would not do:
/// they are reused, and each container has its own.
package final class TemporaryDirectory: Sendable {
    package let path: String
    private let lock: DirectoryLock

    /// Creates a directory that only this user may enter, below ``FileStore/temporaryDirectory``. Does I/O.
    package convenience init() throws(BundleError) {
        try self.init("\(FileStore.temporaryDirectory)/remote-settings", mode: 0o700)
    }

    /// Creates a directory beside a path, for what will be renamed to it. Does I/O.
    package convenience init(beside path: String) throws(BundleError) {
        try self.init(path, mode: 0o777)
    }

    private init(_ prefix: String, mode: mode_t) throws(BundleError) {
        _ = Self.removedAtExit
        Self.removeAbandoned(prefix)
        for _ in 0..<100 {
            let path = try FileStore.makeUniqueDirectory(prefix, ending: Self.ending, mode: mode)
            // Before it is locked, another process may take it for abandoned.
            if let lock = (try? DirectoryLock(path)) ?? nil, try FileStore.isDirectory(path) {
                (self.path, self.lock) = (path, lock)
                Self.existing.withLock { _ = $0.insert(path) }
                return
            }
        }
        throw BundleError("lock a new directory beside", prefix, errno: EWOULDBLOCK)
    }

    deinit {
        try? FileStore.removeTree(path)
        Self.existing.withLock { _ = $0.remove(path) }
    }

    private static let ending = ".tmp"

    /// Removes the directories whose owners were killed. What cannot be removed stays for the next call.
    private static func removeAbandoned(_ prefix: String) {
        let parent = FileStore.parent(of: prefix)
        let start = prefix.utf8.split(separator: UInt8(ascii: "/")).last.map { Array($0) + [UInt8(ascii: ".")] } ?? []
        for name in (try? FileStore.list(parent)) ?? [] {
            let end = name.utf8.dropFirst(start.count)
            guard name.utf8.starts(with: start), end.count == 16 + ending.utf8.count,
                end.prefix(16).allSatisfy({ "0123456789abcdef".utf8.contains($0) }),
                end.dropFirst(16).elementsEqual(ending.utf8)
            else { continue }
            let path = "\(parent)/\(name)"
            // Another user's directory is never touched: its owner could fill it for ever.
            guard (try? FileStore.isOwnDirectory(path)) == true, let lock = (try? DirectoryLock(path)) ?? nil else {
                continue
            }
            withExtendedLifetime(lock) { try? FileStore.removeTree(path) }
        }
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
