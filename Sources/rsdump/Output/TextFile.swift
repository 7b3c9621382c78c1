import FileStorage
import RemoteSettingsModel

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

    /// The path from the root on, as the present directory has it. Links are not followed.
    static func absolute(_ path: String) -> String {
        guard !path.hasPrefix("/") else { return path }
        guard let here = unsafe getcwd(nil, 0) else { return path }
        defer { unsafe free(here) }
        var rest = path[...]
        while rest.hasPrefix("./") { rest = rest.dropFirst(2) }
        return unsafe String(cString: here) + "/" + rest
    }

    static func isDirectory(_ path: String) -> Bool { FileStore.isDirectory(path) }

    /// Replaces the file as a whole.
    ///
    /// - Throws: `FileError`.
    static func write(_ text: String, to path: String) throws {
        try FileStore.replace(path, with: Bytes(utf8: text))
    }
}
