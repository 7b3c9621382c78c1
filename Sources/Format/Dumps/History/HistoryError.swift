import SnapshotBundle

/// Why an older state could not be read.
package enum HistoryError: Error, Hashable, Sendable {
    /// The program `git` is not on the `PATH`.
    case noGit
    /// The directory is not in a work tree that git can read. `problem` is git's own message.
    case noRepository(directory: String, problem: String)
    /// The name refers to no commit of the repository.
    case noRevision(directory: String, name: String, isShallow: Bool)
    /// The place for older bundles is neither `git` nor an existing folder.
    case noPlace(String)
    /// The path is not in the dumps directory.
    case invalidPath(String)
    /// git failed. `problem` is git's own message.
    case git(directory: String, command: String, problem: String)
    /// There is more than is searched. `limit` says of what.
    case overLimit(place: String, limit: String, allowed: Int)
    /// A bundle or a lock cannot be read, or has been replaced since it was found.
    case bundle(BundleError)
    case file(FileError)
}

extension HistoryError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noGit: "there is no program git on the PATH; install it, or name a folder of older bundles"
        case .noRepository(let directory, let problem):
            "\(directory): expected a directory in a git work tree, found none that git reads (\(problem)); "
                + "name a bundle or a folder of older bundles"
        case .noRevision(let directory, let name, let isShallow):
            "\(directory): expected a commit, found none named \(String(reflecting: name)); "
                + (isShallow
                    ? "the clone is shallow, git fetch --unshallow fetches the rest" : "git log lists the commits")
        case .noPlace(let path): "\(path): expected git, or a folder of older bundles; found no such folder"
        case .invalidPath(let path):
            "\(String(reflecting: path)): expected a path below the dumps directory, such as main/regions.zip"
        case .git(let directory, let command, let problem):
            "\(directory): git \(command) failed: \(problem); git fsck checks whether the repository is intact"
        case .overLimit(let place, let limit, let allowed):
            "\(place): expected at most \(allowed) \(limit), found more; name a bundle's path instead"
        case .bundle(let error): "\(error)"
        case .file(let error): "\(error)"
        }
    }
}
