import RemoteSettingsModel
import SnapshotBundle

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The few things done to files here, each either whole or not at all.
enum FileStore {
    /// A file's content; `nil` where there is no such file.
    static func read(_ path: String, limit: Int) throws(FileError) -> Bytes? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let error = FileError("open", path)
            if error.isMissing { return nil }
            throw error
        }
        defer { close(descriptor) }
        var content: [UInt8] = []
        try readPieces(descriptor, path) { (piece) throws(FileError) in
            guard content.count + piece.count <= limit else { throw FileError("read", path, code: EFBIG) }
            content.append(contentsOf: piece)
        }
        return Bytes(content)
    }

    /// Hashes a file from end to end in little memory.
    ///
    /// - Returns: the hasher, to go on with, and how many bytes it has seen.
    static func hash(_ path: String) throws(FileError) -> (hasher: ContentHasher, size: Int) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileError("open", path) }
        defer { close(descriptor) }
        var hasher = ContentHasher()
        var size = 0
        try readPieces(descriptor, path) { (piece) throws(FileError) in
            hasher.update(piece.span)
            size += piece.count
        }
        return (hasher, size)
    }

    /// The SHA-256 of a file.
    static func digest(of path: String) throws(FileError) -> SHA256Digest {
        try hash(path).hasher.finish()
    }

    private static func readPieces(
        _ descriptor: Int32, _ path: String, _ consume: (ArraySlice<UInt8>) throws(FileError) -> Void
    ) throws(FileError) {
        var chunk = [UInt8](repeating: 0, count: 256 << 10)
        while true {
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe systemRead(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                throw FileError("read", path)
            }
            if count == 0 { return }
            try consume(chunk[..<count])
        }
    }

    /// Replaces a file by these bytes: a temporary file beside it, flushed to disk, then renamed.
    static func replace(_ path: String, with content: Bytes) throws(FileError) {
        let temporary = path + ".tmp"
        let file = try WritableFile(creating: temporary)
        do throws(FileError) {
            try file.write(content)
            try file.finish(flushing: true)
            try rename(temporary, to: path)
        } catch {
            file.abandon()
            _ = unsafe unlink(temporary)
            throw error
        }
    }

    /// Renames, and flushes the directory so that the new name lasts.
    static func rename(_ path: String, to target: String) throws(FileError) {
        guard systemRename(path, target) == 0 else { throw FileError("rename \(path) to", target) }
        try flushDirectory(of: target)
    }

    static func flushDirectory(of path: String) throws(FileError) {
        let directory = parent(of: path)
        let descriptor = unsafe open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileError("open", directory) }
        defer { close(descriptor) }
        // Some file systems cannot flush a directory and say so; the rename itself is still atomic there.
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw FileError("flush", directory) }
    }

    static func makeDirectories(_ path: String) throws(FileError) {
        guard unsafe mkdir(path, 0o777) != 0 else { return }
        switch errno {
        case EEXIST: return
        case ENOENT:
            try makeDirectories(parent(of: path))
            guard unsafe mkdir(path, 0o777) == 0 || errno == EEXIST else { throw FileError("make the directory", path) }
        default: throw FileError("make the directory", path)
        }
    }

    static func remove(_ path: String) throws(FileError) {
        guard unsafe unlink(path) == 0 || errno == ENOENT else { throw FileError("remove", path) }
    }

    /// Removes a directory if nothing is in it.
    static func removeIfEmpty(_ path: String) throws(FileError) {
        guard unsafe rmdir(path) == 0 || [ENOENT, ENOTEMPTY, EEXIST].contains(errno) else {
            throw FileError("remove", path)
        }
    }

    /// Removes a directory with all that is in it. Does nothing where there is none.
    static func removeTree(_ path: String) throws(FileError) {
        guard let names = try list(path) else { return }
        for name in names {
            let child = "\(path)/\(name)"
            if isDirectory(child) { try removeTree(child) } else { try remove(child) }
        }
        guard unsafe rmdir(path) == 0 || errno == ENOENT else { throw FileError("remove", path) }
    }

    /// The names in a directory, sorted; `nil` where there is no such directory.
    static func list(_ path: String) throws(FileError) -> [String]? {
        guard let directory = unsafe opendir(path) else {
            let error = FileError("list", path)
            if error.isMissing { return nil }
            throw error
        }
        defer { unsafe closedir(directory) }
        var names: [String] = []
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// Bytes of a regular file; `nil` where there is none. Links are not followed.
    static func size(_ path: String) -> Int? {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int(status.st_size)
    }

    static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
