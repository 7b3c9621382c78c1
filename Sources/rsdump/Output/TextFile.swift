import FileStorage
import SnapshotBuilder

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Files that a command writes for its user.
enum TextFile {
    static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

    static func isDirectory(_ path: String) -> Bool { FileStore.isDirectory(path) }

    /// Replaces the file as a whole.
    ///
    /// - Throws: `FileError`.
    static func write(_ text: String, to path: String) throws {
        try WholeFile.write(Array(text.utf8), to: path)
    }
}
