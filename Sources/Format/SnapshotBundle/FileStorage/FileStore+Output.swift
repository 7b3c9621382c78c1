import RemoteSettingsModel

extension FileStore {
    /// The extended attribute that marks directories created by a command. A marker file is not possible, because some
    /// outputs have another project's layout.
    private static let outputAttribute = "user.rsdump.output"

    /// Checks that no directory on the way from the working directory to a command's output is a link.
    ///
    /// A job works in a checkout, and a commit can contain a link to a directory such as `.git/hooks`. An absolute path
    /// that does not lead through the working directory is the user's choice.
    ///
    /// - Throws: ``Failure`` if one is a link, or is not a directory.
    package static func refuseLinks(onWayTo path: String) throws(Failure) {
        let isAbsolute = path.utf8.first == UInt8(ascii: "/")
        var parts = plainComponents(of: path)
        var root = isAbsolute ? "/." : "."
        while let part = parts.first, try isAbsolute ? !isSameFile(root, ".") : part == ".." {
            root += "/\(part)"
            parts.removeFirst()
        }
        guard !parts.isEmpty else { return }
        do throws(Failure) {
            _ = try FilePlace("\(root)/\(parts.joined(separator: "/"))", below: root, making: false)
        } catch {
            guard error.isMissing else { throw error }
        }
    }

    /// Checks that a command may replace the file or directory at a path that the user has specified: it must be a
    /// regular file, an empty directory, or a directory from ``makeOutputDirectory(for:)``.
    ///
    /// A file system without extended attributes does not store the mark, so a directory on it is never replaced.
    ///
    /// - Throws: ``Failure`` if it is anything else.
    package static func checkReplaceable(_ path: String) throws(Failure) {
        guard try isDirectory(path) else { return try checkOutput(path) }
        try refuseLinks(onWayTo: path)
        guard try list(path, isLossy: true)?.isEmpty == false, systemAttribute(path, outputAttribute) == 0 else {
            return
        }
        throw Failure("replace", path, errno: Failure.isForeign)
    }

    /// Creates the directory for a command's output next to its final path, and marks it. Pass its path to
    /// ``placeOutput(_:at:)`` when the output is complete.
    package static func makeOutputDirectory(for path: String) throws(Failure) -> TemporaryDirectory {
        try refuseLinks(onWayTo: path)
        try makeDirectories(parent(of: path))
        let made = try TemporaryDirectory(beside: path)
        systemSetAttribute(made.path, outputAttribute)
        return made
    }

    /// Moves a finished file or directory to its final path. The previous file or directory remains until then, and is
    /// removed afterwards.
    ///
    /// - Throws: ``Failure``, also if the previous one may not be replaced. Nothing has changed in that case.
    package static func placeOutput(_ finished: String, at path: String) throws(Failure) {
        try checkReplaceable(path)
        if try isDirectory(finished) { try flush(tree: finished) }
        // The system replaces a file in one step, but a directory only in two. If the process is killed between them,
        // the previous directory remains next to its path under a temporary name.
        let kinds = (try kind(finished), try kind(path))
        guard kinds.1 != nil, kinds.0 == .directory || kinds.1 == .directory else {
            return try rename(finished, to: path)
        }
        let aside = uniquePath(path) + ".old"
        try rename(path, to: aside, flushing: false)
        do throws(Failure) {
            try rename(finished, to: path)
        } catch {
            try? rename(aside, to: path)
            throw error
        }
        try removeTree(aside)
    }
}
