import RemoteSettingsModel

/// File operations. A file is replaced completely or not at all.
package enum FileStore {
    /// Returns the content of a file; `nil` if there is no such file.
    package static func read(_ path: String, limit: Int) throws(Failure) -> Bytes? {
        guard let file = try ReadableFile.existing(path) else { return nil }
        guard file.size <= limit else { throw Failure("read", path, errno: EFBIG) }
        // Request one more byte than expected, so that the last read reaches the end of the file, even if the file is
        // growing.
        var content = try file.next(file.size.saturatingAdding(1))
        var isWhole = content.count <= file.size
        while !isWhole, content.count <= limit {
            let more = try file.next(64 << 10)
            content += more
            isWhole = more.isEmpty
        }
        guard content.count <= limit else { throw Failure("read", path, errno: EFBIG) }
        return Bytes(content)
    }

    /// Returns the first bytes of a file, and the size of the whole file in bytes; `nil` if there is no such file.
    ///
    /// - Parameter most: the largest number of bytes to read.
    package static func readBeginning(_ path: String, most: Int) throws(Failure) -> (bytes: Bytes, fileSize: Int)? {
        guard let file = try ReadableFile.existing(path) else { return nil }
        return (Bytes(try file.next(min(most, file.size))), file.size)
    }

    /// Returns the status of an open file.
    ///
    /// - Throws: ``Failure`` if it is a pipe, a device or a directory.
    static func regularFile(_ descriptor: Int32, _ path: String) throws(Failure) -> stat {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw Failure("access", path) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw Failure("use", path, errno: status.st_mode & S_IFMT == S_IFDIR ? EISDIR : Failure.notRegular)
        }
        return status
    }

    /// Reads a file from start to end with little memory.
    package static func readPieces(_ path: String, _ consume: (Span<UInt8>) throws(Failure) -> Void) throws(Failure) {
        let file = try ReadableFile(path)
        var piece = [UInt8](repeating: 0, count: 256 << 10)
        while case let count = try file.next(into: &piece), count > 0 { try consume(piece.span.extracting(0..<count)) }
    }

    /// Replaces a file with these bytes. They are written to a temporary file next to it, flushed to the disk, and
    /// renamed.
    ///
    /// - Parameters:
    ///   - limit: the largest size in bytes that readers of the file accept. If the content is longer, an error is
    ///     thrown and the file remains unchanged.
    ///   - isContended: whether other processes may replace the same file at the same time. Each process then uses a
    ///     separate temporary file, which remains if the process is killed.
    ///   - flushing: whether to wait for the disk. Without it, a crash of the machine may leave an empty file.
    ///   - root: a directory that the user has specified, if `path` is below one. Below it, no link is followed, and
    ///     missing directories are created.
    ///   - isPrivate: whether only the owner may read the file (mode 0600), regardless of the umask and the mode of the
    ///     previous file.
    ///   - ending: the suffix of the temporary file's name. A `.gitignore` that lists the file must also cover this
    ///     name.
    package static func replace(
        _ path: String, below root: String? = nil, with content: Bytes, limit: Int = .max, isContended: Bool = false,
        flushing: Bool = true, isPrivate: Bool = false, ending: String = ".tmp"
    ) throws(Failure) {
        guard content.count <= limit else { throw Failure("write", path, errno: EFBIG) }
        let place = try FilePlace(path, below: root, making: true)
        let temporary = place.beside(isContended ? uniquePath("") + ending : ending)
        // A killed process may have left a file with this name, or an attacker may have created a link.
        guard unsafe unlinkat(temporary.directory, temporary.name, 0) == 0 || errno == ENOENT else {
            throw errno == EROFS ? Failure("write", path) : Failure("remove", temporary.path)
        }
        let file = try WritableFile(temporary, mode: isPrivate ? 0o600 : 0o666)
        do throws(Failure) {
            try file.write(content)
            try file.finish(flushing: flushing)
            guard unsafe renameat(temporary.directory, temporary.name, place.directory, place.name) == 0 else {
                throw Failure("rename \(temporary.path) to", path)
            }
            if flushing { try place.flushDirectory() }
        } catch {
            file.abandon()
            _ = unsafe unlinkat(temporary.directory, temporary.name, 0)
            throw error
        }
    }

    /// Returns whether users other than the file's owner may read or write it.
    ///
    /// - Throws: ``Failure`` if there is no regular file.
    package static func isOpenToOthers(_ path: String) throws(Failure) -> Bool {
        try ReadableFile(path).status.st_mode & 0o077 != 0
    }

    /// Writes a command's output to a file that the user has specified. An existing regular file is replaced.
    ///
    /// If `body` throws, the previous file remains unchanged.
    ///
    /// - Throws: the errors of ``checkOutput(_:)``, ``Failure``, or the error of `body`.
    package static func writeOutput(
        _ path: String, writing body: (_ write: (Span<UInt8>) throws -> Void) throws -> Void
    ) throws {
        try checkOutput(path)
        let temporary = try TemporaryDirectory(beside: path)
        defer { withExtendedLifetime(temporary) {} }
        let file = try WritableFile(creating: "\(temporary.path)/output")
        defer { file.abandon() }
        try body { try file.write($0) }
        try file.finish(flushing: true)
        try rename("\(temporary.path)/output", to: path)
    }

    /// Writes a command's output to a file that the user has specified, like ``writeOutput(_:writing:)``.
    package static func writeOutput(_ path: String, _ content: Bytes) throws {
        try writeOutput(path) { write in try content.withSpan { try write($0) } }
    }

    /// Checks that the path for a command's output is a regular file or does not exist.
    ///
    /// With sufficient rights, renaming a file to `/dev/null`, or to the link `/dev/stdout`, would break these for the
    /// whole machine.
    ///
    /// - Parameter path: the path; `nil` if no file will be written.
    /// - Throws: ``Failure`` if the path is a link, a directory, a pipe or a device, or if it leads through a link.
    package static func checkOutput(_ path: String?) throws(Failure) {
        guard let path else { return }
        try refuseLinks(onWayTo: path)
        switch try kind(path) {
        case nil, .file: return
        case .link: throw Failure("replace", path, errno: Failure.isLink)
        case .directory: throw Failure("replace", path, errno: EISDIR)
        case .other: throw Failure("replace", path, errno: Failure.notRegular)
        }
    }

    /// Returns whether both paths lead to the same existing file, also through links.
    package static func isSameFile(_ path: String, _ other: String) throws(Failure) -> Bool {
        func identity(_ path: String) throws(Failure) -> (dev_t, ino_t)? {
            var status = stat()
            if unsafe stat(path, &status) == 0 { return (status.st_dev, status.st_ino) }
            guard errno == ENOENT || errno == ENOTDIR else { throw Failure("access", path) }
            return nil
        }
        guard let one = try identity(path), let two = try identity(other) else { return false }
        return one == two
    }

    /// Renames a file or directory.
    ///
    /// - Parameter flushing: whether to flush the directory, so that the new name survives a crash of the machine.
    package static func rename(_ path: String, to target: String, flushing: Bool = true) throws(Failure) {
        guard systemRename(path, target) == 0 else { throw Failure("rename \(path) to", target) }
        if flushing { try flushDirectory(of: target) }
    }

    /// Creates a second name for a file (a hard link).
    package static func link(_ path: String, as other: String) throws(Failure) {
        guard systemLink(path, other) == 0 else { throw Failure("link \(path) as", other) }
    }

    static func flushDirectory(of path: String) throws(Failure) { try flush(directory: parent(of: path)) }

    /// Waits until the file names in a directory are on the disk.
    package static func flush(directory: String) throws(Failure) { try flush(directory: FileName(directory)) }

    private static func flush(directory: FileName) throws(Failure) {
        let descriptor = unsafe open(directory.characters, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure("open", directory.shown) }
        defer { close(descriptor) }
        // Some file systems report that they cannot flush a directory. A rename is still atomic on them.
        guard systemFlush(descriptor) == 0 || errno == EINVAL else { throw Failure("flush", directory.shown) }
    }

    /// Waits until all files and file names below a directory are on the disk. Links are not followed.
    package static func flush(tree: String) throws(Failure) { try flush(tree: FileName(tree)) }

    private static func flush(tree: FileName) throws(Failure) {
        for name in try names(in: tree) ?? [] {
            let path = tree.appending(name)
            var status = stat()
            guard unsafe lstat(path.characters, &status) == 0 else { throw Failure("access", path.shown) }
            if status.st_mode & S_IFMT == S_IFDIR {
                try flush(tree: path)
            } else if status.st_mode & S_IFMT == S_IFREG {
                let descriptor = unsafe open(path.characters, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
                guard descriptor >= 0 else { throw Failure("open", path.shown) }
                defer { close(descriptor) }
                guard systemFlush(descriptor) == 0 else { throw Failure("flush", path.shown) }
            }
        }
        try flush(directory: tree)
    }

    package static func makeDirectories(_ path: String) throws(Failure) {
        guard unsafe mkdir(path, 0o777) != 0 else { return }
        switch errno {
        case EEXIST: return
        case ENOENT:
            try makeDirectories(parent(of: path))
            guard unsafe mkdir(path, 0o777) == 0 || errno == EEXIST else { throw Failure("create the directory", path) }
        default: throw Failure("create the directory", path)
        }
    }

    package static func remove(_ path: String) throws(Failure) {
        guard unsafe unlink(path) == 0 || errno == ENOENT else { throw Failure("remove", path) }
    }

    /// Removes a directory if it is empty.
    package static func removeIfEmpty(_ path: String) throws(Failure) {
        guard unsafe rmdir(path) == 0 || [ENOENT, ENOTEMPTY, EEXIST].contains(errno) else {
            throw Failure("remove", path)
        }
    }

    /// Removes a directory with its contents. If the path is a link or a file, only that link or file is removed. Does
    /// nothing if the path does not exist.
    ///
    /// Each directory is opened relative to its parent, so nothing outside the directory is removed, even if a
    /// directory is replaced by a link at the same time.
    package static func removeTree(_ path: String) throws(Failure) {
        try removeTree(FileName(path), in: AT_FDCWD, path: path)
    }

    static func removeTree(_ name: FileName, in parent: Int32, path: String) throws(Failure) {
        guard let directory = try openTree(name, in: parent, path: path) else { return }
        defer { close(directory) }
        try empty(directory, path: path)
        guard unsafe unlinkat(parent, name.characters, AT_REMOVEDIR) == 0 || errno == ENOENT else {
            throw Failure("remove", path)
        }
    }

    /// Removes everything in an open directory.
    ///
    /// The contents of nested directories are first moved up into this directory, so a deep tree needs neither a deep
    /// stack nor many open files.
    private static func empty(_ directory: Int32, path: String) throws(Failure) {
        var before: [FileName] = []
        while case let children = try names(in: directory, path: path), !children.isEmpty {
            // Otherwise, a file system whose names do not lead to its files would keep this loop busy forever.
            guard children != before else { throw Failure("remove", path, errno: ENOTEMPTY) }
            before = children
            for child in children {
                let place = "\(path)/\(child.shown)"
                guard let open = try openTree(child, in: directory, path: place) else { continue }
                defer { close(open) }
                for inner in try names(in: open, path: place) where unsafe unlinkat(open, inner.characters, 0) != 0 {
                    guard
                        unsafe renameat(open, inner.characters, directory, uniquePath("inner")) == 0 || errno == ENOENT
                    else { throw Failure("remove", "\(place)/\(inner.shown)") }
                }
                guard unsafe unlinkat(directory, child.characters, AT_REMOVEDIR) == 0 || errno == ENOENT else {
                    throw Failure("remove", place)
                }
            }
        }
    }

    /// Opens a directory. If there is a link or a file at the path instead, removes it and returns `nil`.
    private static func openTree(_ name: FileName, in parent: Int32, path: String) throws(Failure) -> Int32? {
        let descriptor = unsafe openat(parent, name.characters, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor < 0 else { return descriptor }
        switch errno {
        case ENOENT: return nil
        case ENOTDIR, ELOOP:
            guard unsafe unlinkat(parent, name.characters, 0) == 0 || errno == ENOENT || errno == ENOTDIR else {
                throw Failure("remove", path)
            }
            return nil
        default: throw Failure("open", path)
        }
    }

    /// Returns the names in a directory, sorted by their bytes; `nil` if there is no such directory.
    ///
    /// - Parameter isLossy: whether a name that is not UTF-8 is returned with replacement characters. No path leads to
    ///   its file. Without it, such a name is an error.
    package static func list(_ path: String, isLossy: Bool = false) throws(Failure) -> [String]? {
        try names(in: FileName(path))?.map { (name) throws(Failure) in
            if let text = name.text { return text }
            guard isLossy else { throw Failure("use", "\(path)/\(name.shown)", errno: Failure.notUTF8) }
            return name.shown
        }
    }

    private static func names(in path: FileName) throws(Failure) -> [FileName]? {
        let descriptor = unsafe open(path.characters, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let error = Failure("list", path.shown)
            if error.isMissing { return nil }
            throw error
        }
        defer { close(descriptor) }
        return try names(in: descriptor, path: path.shown)
    }

    /// Lists a directory.
    ///
    /// - Parameter descriptor: an open directory. It remains open.
    static func names(in descriptor: Int32, path: String) throws(Failure) -> [FileName] {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw Failure("list", path) }
        guard let directory = unsafe fdopendir(copy) else {
            close(copy)
            throw Failure("list", path)
        }
        defer { unsafe closedir(directory) }
        // The copy shares its position with the original, which an earlier listing may have advanced.
        unsafe rewinddir(directory)
        var names: [FileName] = []
        while true {
            // Only `errno` distinguishes a failure from the last entry.
            errno = 0
            guard let entry = unsafe readdir(directory) else {
                guard errno == 0 else { throw Failure("list", path) }
                return names.sorted()
            }
            let name = unsafe FileName(entry)
            if !name.isDots { names.append(name) }
        }
    }

    // The functions below report that a path does not exist only if the system reports exactly that. Any other failure
    // is an error: a file on an unreadable disk must not look as if it were missing.

    /// Returns the size of a regular file in bytes; `nil` if there is none. Links are not followed.
    package static func size(_ path: String) throws(Failure) -> Int? {
        if case .file(let size)? = try kind(path) { size } else { nil }
    }

    /// The path of the running program's file, with links resolved; `nil` if it cannot be found.
    package static var program: String? {
        (try? resolved("/proc/self/exe")) ?? CommandLine.arguments.first.flatMap { try? resolved($0) }
    }

    /// Returns the identity of a file's current version; `nil` if there is no regular file. It changes when the file is
    /// replaced.
    ///
    /// - Parameter followsLinks: whether a link counts as the file that it leads to.
    package static func identity(_ path: String, followsLinks: Bool = false) throws(Failure) -> FileIdentity? {
        guard let status = try status(path, followsLinks: followsLinks), status.st_mode & S_IFMT == S_IFREG else {
            return nil
        }
        #if canImport(Darwin)
        let time = status.st_mtimespec
        #else
        let time = status.st_mtim
        #endif
        return FileIdentity(
            device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(truncatingIfNeeded: status.st_ino),
            size: Int64(status.st_size), seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
    }

    /// Returns whether a path exists. Links are followed.
    package static func exists(_ path: String) throws(Failure) -> Bool {
        if unsafe access(path, F_OK) == 0 { return true }
        let error = Failure("access", path)
        guard error.isMissing else { throw error }
        return false
    }

    /// Returns the result of `lstat` or `stat`; `nil` if the path does not exist.
    private static func status(_ path: String, followsLinks: Bool = false) throws(Failure) -> stat? {
        var status = stat()
        if unsafe (followsLinks ? stat(path, &status) : lstat(path, &status)) == 0 { return status }
        let error = Failure("access", path)
        guard error.isMissing else { throw error }
        return nil
    }

    /// Returns the kind of file at a path; `nil` if there is none. Links are not followed.
    package static func kind(_ path: String) throws(Failure) -> FileKind? {
        guard let status = try status(path) else { return nil }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return .file(size: Int(clamping: status.st_size))
        case S_IFDIR: return .directory
        case S_IFLNK: return .link
        default: return .other
        }
    }

    /// Checks that a path is a directory or does not exist, so that nothing is read or written through a link.
    ///
    /// - Throws: ``Failure`` if the path is anything else.
    package static func refuseLink(_ path: String) throws(Failure) {
        switch try kind(path) {
        case nil, .directory: return
        case .link: throw Failure("use", path, errno: Failure.isLink)
        case .file, .other: throw Failure("use", path, errno: ENOTDIR)
        }
    }

    /// Returns whether a path is a directory. Links are not followed.
    package static func isDirectory(_ path: String) throws(Failure) -> Bool { try kind(path) == .directory }

    /// Returns whether a path is a directory that belongs to this user. Links are not followed.
    static func isOwnDirectory(_ path: String) throws(Failure) -> Bool {
        guard let status = try status(path) else { return false }
        return status.st_mode & S_IFMT == S_IFDIR && status.st_uid == geteuid()
    }

    /// The directory for this user's temporary files: `TMPDIR`, or `/tmp` if that is not set.
    package static var temporaryDirectory: String {
        guard let path = unsafe getenv("TMPDIR").map({ unsafe String(cString: $0) }), !path.isEmpty else {
            return "/tmp"
        }
        return path
    }

    /// Blocks the thread for a short time, for callers that cannot wait asynchronously.
    package static func pause(microseconds: UInt32) { usleep(microseconds) }

    /// Returns `path` with a suffix of 64 random bits, so that no other task, process or machine uses the same path.
    package static func uniquePath(_ path: String) -> String {
        let digits = String(UInt64.random(in: 0...UInt64.max), radix: 16)
        return path + "." + String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }

    /// Returns the absolute path with all links resolved; `nil` if the path does not exist.
    package static func resolved(_ path: String) throws(Failure) -> String? {
        guard let resolved = unsafe realpath(path, nil) else {
            let error = Failure("resolve the links of", path)
            guard error.isMissing else { throw error }
            return nil
        }
        defer { unsafe free(resolved) }
        return try unsafe text(resolved, for: path)
    }

    /// Returns the absolute path. A relative path is resolved against the working directory. Links are not followed.
    ///
    /// - Throws: ``Failure`` if the working directory is unknown.
    package static func absolute(_ path: String) throws(Failure) -> String {
        guard path.utf8.first != UInt8(ascii: "/") else { return path }
        guard let current = unsafe getcwd(nil, 0) else { throw Failure("find the working directory for", path) }
        defer { unsafe free(current) }
        var rest = path.utf8[...]
        while rest.starts(with: "./".utf8) { rest = rest.dropFirst(2) }
        return try unsafe text(current, for: path) + "/" + String(Substring(rest))
    }

    /// Converts a path from the system.
    ///
    /// - Throws: ``Failure`` if it is not UTF-8.
    @unsafe
    private static func text(_ found: UnsafeMutablePointer<CChar>, for path: String) throws(Failure) -> String {
        guard let text = unsafe String(validatingCString: found) else {
            throw Failure("use the directory of", path, errno: Failure.notUTF8)
        }
        return text
    }

    // Paths are split by bytes, because Swift combines a slash and a following combining mark to one character.

    /// Returns the path of the directory that contains `path`.
    package static func parent(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Returns the parts of a path between its slashes.
    ///
    /// - Parameter keepingEmpty: whether to return empty parts, such as the one before the slash of an absolute path.
    package static func components(of path: String, keepingEmpty: Bool = false) -> [String] {
        path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: !keepingEmpty)
            .map { String(Substring($0)) }
    }

    /// Returns the parts of a path without `.`, and without `..` and the part before it, which is not followed. A
    /// relative path keeps the `..` at its beginning.
    package static func plainComponents(of path: String) -> [String] {
        let isAbsolute = path.utf8.first == UInt8(ascii: "/")
        var parts: [String] = []
        for part in components(of: path) where part != "." {
            if part != ".." || (parts.last ?? "..") == ".." && !isAbsolute {
                parts.append(part)
            } else {
                _ = parts.popLast()
            }
        }
        return parts
    }
}

package enum FileKind: Hashable, Sendable {
    case file(size: Int)
    case directory
    /// A symbolic link.
    case link
    /// A pipe or a device.
    case other
}

/// The identity of one version of a file.
package struct FileIdentity: Hashable, Sendable {
    let device: UInt64
    let inode: UInt64
    let size: Int64
    /// The time of the last change of the file's content, in seconds since 1970.
    package let seconds: Int64
    package let nanoseconds: Int64
}
