import LibC
import RemoteSettingsModel
import Locks

/// A directory in memory, which the functions of ``FileStore`` use like one on the disk. It ends with its last holder.
package final class MemoryDirectory: Sendable {
    /// The directory's path. On a disk, nothing can be below it.
    package let path: String

    package init() {
        path = "\(MemoryFiles.prefix)\(Self.count.add(1, ordering: .relaxed).newValue)"
        MemoryFiles.makeDirectories(path)
    }

    deinit { MemoryFiles.removeTree(path) }

    private static let count = Atomic(0)
}

/// The files of every ``MemoryDirectory``, by their paths.
enum MemoryFiles {
    private struct Entry {
        /// `nil` for a directory.
        var content: Bytes?
        /// Distinguishes versions of a file, as an inode does.
        var number: UInt64
        var changed: time_t
    }

    private struct State {
        var entries: [String: Entry] = [:]
        var locked: Set<String> = []
        var count: UInt64 = 0

        mutating func put(_ path: String, _ content: Bytes?) {
            count += 1
            entries[path] = Entry(content: content, number: count, changed: time(nil))
        }

        mutating func makeDirectories(_ path: String) {
            guard MemoryFiles.hold(path), entries[path] == nil else { return }
            makeDirectories(FileStore.parent(of: path))
            put(path, nil)
        }
    }

    static let prefix = "/dev/null/:memory:"
    private static let state = Mutex(State())

    /// Whether a path leads to a file or directory in memory.
    static func hold(_ path: String) -> Bool { path.utf8.starts(with: prefix.utf8) }

    static func read(_ path: String, limit: Int) throws(FileError) -> Bytes? {
        guard let entry = state.withLock({ $0.entries[path] }) else { return nil }
        guard let content = entry.content else { throw FileError("use", path, code: EISDIR) }
        guard content.count <= limit else { throw FileError("read", path, code: EFBIG) }
        return content
    }

    static func replace(_ path: String, with content: Bytes) {
        state.withLock { state in
            state.makeDirectories(FileStore.parent(of: path))
            state.put(path, content)
        }
    }

    static func makeDirectories(_ path: String) { state.withLock { $0.makeDirectories(path) } }

    static func remove(_ path: String) { state.withLock { $0.entries[path] = nil } }

    static func removeTree(_ path: String) {
        let inside = "\(path)/"
        state.withLock { state in
            state.entries[path] = nil
            state.entries = state.entries.filter { !$0.key.utf8.starts(with: inside.utf8) }
        }
    }

    /// - Parameter keepsOld: whether the file also keeps its first name.
    static func rename(_ path: String, to target: String, keepsOld: Bool = false) throws(FileError) {
        let isThere = state.withLock { state in
            guard let entry = state.entries[path] else { return false }
            state.makeDirectories(FileStore.parent(of: target))
            state.entries[target] = entry
            if !keepsOld { state.entries[path] = nil }
            return true
        }
        guard isThere else { throw FileError("rename \(path) to", target, code: ENOENT) }
    }

    static func list(_ path: String) -> [String]? {
        let inside = "\(path)/"
        return state.withLock { state in
            guard let entry = state.entries[path], entry.content == nil else { return nil }
            return state.entries.keys.filter { $0.utf8.starts(with: inside.utf8) }
                .map { String($0.dropFirst(inside.count)) }.filter { !$0.utf8.contains(UInt8(ascii: "/")) }.sorted()
        }
    }

    /// The result that `lstat` would have.
    static func status(_ path: String) -> stat? {
        guard let entry = state.withLock({ $0.entries[path] }) else { return nil }
        var status = stat()
        status.st_mode = entry.content == nil ? S_IFDIR : S_IFREG
        status.st_size = off_t(entry.content?.count ?? 0)
        status.st_ino = ino_t(truncatingIfNeeded: entry.number)
        #if canImport(Darwin)
            status.st_mtimespec.tv_sec = entry.changed
        #else
            status.st_mtim.tv_sec = entry.changed
        #endif
        return status
    }

    /// - Returns: whether nobody else has locked the directory.
    static func lock(_ path: String) throws(FileError) -> Bool {
        let isFree = state.withLock { $0.entries[path] == nil ? nil : $0.locked.insert(path).inserted }
        guard let isFree else { throw FileError("open the directory", path, code: ENOENT) }
        return isFree
    }

    static func unlock(_ path: String) { state.withLock { _ = $0.locked.remove(path) } }
}
