import RemoteSettingsModel

extension FileStore {
    /// The extended attribute of a directory that a command made. The tree of another project has no file of ours.
    private static let outputAttribute = "user.rsdump.output"

    /// Checks that a command may replace what is at a path that the user has named: a regular file, an empty directory,
    /// or one that ``makeOutputDirectory(for:)`` made.
    ///
    /// A file system without extended attributes keeps no mark, so a directory on it is never replaced.
    ///
    /// - Throws: ``BundleError`` if it is anything else.
    package static func checkReplaceable(_ path: String) throws(BundleError) {
        guard try isDirectory(path) else { return try checkOutput(path) }
        guard try list(path)?.isEmpty == false, systemAttribute(path, outputAttribute) == 0 else { return }
        throw BundleError("replace", path, errno: BundleError.isForeign)
    }

    /// Creates the directory for a command's output beside its final path, and marks it. Pass its path to
    /// ``placeOutput(_:at:)`` when it is complete.
    package static func makeOutputDirectory(for path: String) throws(BundleError) -> TemporaryDirectory {
        try makeDirectories(parent(of: path))
        let made = try TemporaryDirectory(beside: path)
        systemSetAttribute(made.path, outputAttribute)
        return made
    }

    /// Gives a finished file or directory its final path. What was there stays until then, and is removed afterwards.
    ///
    /// - Throws: ``BundleError``, also if what is there may not be replaced. Nothing has changed then.
    package static func placeOutput(_ finished: String, at path: String) throws(BundleError) {
        try checkReplaceable(path)
        try exchangeOutput(finished, with: path)
    }

    /// Like ``placeOutput(_:at:)``, for an update that keeps what the caller has not written, whoever made it.
    package static func exchangeOutput(_ finished: String, with path: String) throws(BundleError) {
        if try isDirectory(finished) { try flush(tree: finished) }
        // The system replaces a file in one step. A directory takes two. A process that is killed between them leaves
        // the earlier directory beside its path.
        let kinds = (try kind(finished), try kind(path))
        guard kinds.1 != nil, kinds.0 == .directory || kinds.1 == .directory else {
            return try rename(finished, to: path)
        }
        let aside = uniquePath(path) + ".old"
        try rename(path, to: aside, flushing: false)
        do throws(BundleError) {
            try rename(finished, to: path)
        } catch {
            try? rename(aside, to: path)
            throw error
        }
        try removeTree(aside)
    }
}
