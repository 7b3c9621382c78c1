import RemoteSettingsModel

/// The location of a file that exists or will be created: a name in an open directory.
///
/// Operations use the open directory, so they are not affected if the directory's path is replaced in the meantime.
struct FilePlace: ~Copyable {
    let directory: Int32
    let name: String
    /// The path for error messages.
    let path: String

    /// Uses a path without opening its directory.
    init(_ path: String) {
        directory = AT_FDCWD
        name = path
        self.path = path
    }

    /// Uses a path below a directory that the user has specified. That directory may be a link. No link below it is
    /// followed.
    ///
    /// - Parameter making: whether to create missing directories.
    /// - Throws: ``Failure`` if a part of the path is a link or not a directory.
    init(_ path: String, below root: String, making: Bool) throws(Failure) {
        let parts = FileStore.components(of: String(Substring(path.utf8.dropFirst(root.utf8.count))))
        guard path.utf8.starts(with: (root + "/").utf8), let last = parts.last, !parts.contains(".."),
            !parts.contains(".")
        else { throw Failure("look below \(root) for", path, errno: EINVAL) }
        var open = unsafe systemOpen(AT_FDCWD, root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if open < 0, errno == ENOENT, making {
            try FileStore.makeDirectories(root)
            open = unsafe systemOpen(AT_FDCWD, root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        }
        guard open >= 0 else { throw Failure("open", root) }
        var reached = root
        for part in parts.dropLast() {
            reached += "/\(part)"
            if making, unsafe mkdirat(open, part, 0o777) != 0, errno != EEXIST {
                let error = Failure("create the directory", reached)
                close(open)
                throw error
            }
            let next = unsafe systemOpen(open, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            if next < 0 {
                let error = Failure("open", reached)
                var status = stat()
                let isLink =
                    unsafe fstatat(open, part, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_mode & S_IFMT == S_IFLNK
                close(open)
                throw isLink ? Failure("use", reached, errno: Failure.isLink) : error
            }
            close(open)
            open = next
        }
        directory = open
        name = last
        self.path = path
    }

    init(_ path: String, below root: String?, making: Bool) throws(Failure) {
        if let root { try self.init(path, below: root, making: making) } else { self.init(path) }
    }

    /// Returns the location of a file with this suffix in the same directory. Use it only as long as this value exists.
    borrowing func beside(_ suffix: String) -> (directory: Int32, name: String, path: String) {
        (directory, name + suffix, path + suffix)
    }

    /// Waits until the file names in the directory are on the disk.
    borrowing func flushDirectory() throws(Failure) {
        guard directory != AT_FDCWD else { return try FileStore.flushDirectory(of: path) }
        // Ignore EINVAL for the same reason as in `FileStore.flush(directory:)`.
        guard systemFlush(directory) == 0 || errno == EINVAL else { throw Failure("flush", FileStore.parent(of: path)) }
    }

    deinit { if directory != AT_FDCWD { close(directory) } }
}

extension FileStore {
    /// Creates directories below one that the user has specified. No link is followed.
    ///
    /// - Throws: ``Failure`` if a part of the path is a link or not a directory.
    package static func makeDirectories(_ path: String, below root: String) throws(Failure) {
        _ = try FilePlace("\(path)/x", below: root, making: true)
    }

    /// Creates a new directory with a name that begins with `prefix`.
    ///
    /// - Returns: its path.
    package static func makeUniqueDirectory(
        _ prefix: String, ending: String = "", mode: mode_t = 0o777
    ) throws(Failure) -> String {
        let path = uniquePath(prefix) + ending
        guard unsafe mkdir(path, mode) == 0 else { throw Failure("create", path) }
        return path
    }

    /// Removes a file below a directory that the user has specified. No link is followed.
    package static func remove(_ path: String, below root: String) throws(Failure) {
        do throws(Failure) {
            let place = try FilePlace(path, below: root, making: false)
            guard unsafe unlinkat(place.directory, place.name, 0) == 0 || errno == ENOENT else {
                throw Failure("remove", path)
            }
        } catch {
            guard error.isMissing else { throw error }
        }
    }

    /// Removes a directory with its contents, like ``removeTree(_:)``. No link is followed.
    package static func removeTree(_ path: String, below root: String) throws(Failure) {
        do throws(Failure) {
            let place = try FilePlace(path, below: root, making: false)
            try removeTree(FileName(place.name), in: place.directory, path: path)
        } catch {
            guard error.isMissing else { throw error }
        }
    }

    /// Removes the files and directories in a directory, like ``removeTree(_:)``, that have certain names. No link is
    /// followed. Does nothing if the directory does not exist.
    ///
    /// - Parameters:
    ///   - root: the directory, or one above it, that the user has specified.
    ///   - isUnwanted: returns whether to remove the file with this name. If the name is not UTF-8, it has replacement
    ///     characters.
    package static func removeChildren(
        of directory: String, below root: String, where isUnwanted: (String) -> Bool
    ) throws(Failure) {
        do throws(Failure) {
            let place = try FilePlace("\(directory)/x", below: root, making: false)
            for name in try names(in: place.directory, path: directory) where isUnwanted(name.shown) {
                try removeTree(name, in: place.directory, path: "\(directory)/\(name.shown)")
            }
        } catch {
            guard error.isMissing else { throw error }
        }
    }

    /// Renames a file below a directory that the user has specified, and creates the target's directory. No link is
    /// followed.
    ///
    /// - Parameter flushing: whether to flush the directory, so that the new name survives a crash of the machine.
    package static func rename(
        _ path: String, to target: String, below root: String, flushing: Bool = true
    ) throws(Failure) {
        let from = try FilePlace(path, below: root, making: false)
        let to = try FilePlace(target, below: root, making: true)
        guard unsafe renameat(from.directory, from.name, to.directory, to.name) == 0 else {
            throw Failure("rename \(path) to", target)
        }
        if flushing { try to.flushDirectory() }
    }
}

@unsafe
func systemOpen(_ directory: Int32, _ name: String, _ flags: Int32, _ mode: mode_t = 0) -> Int32 {
    unsafe openat(directory, name, flags, mode)
}
