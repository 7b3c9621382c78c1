import FileStorage
import SnapshotBundle

/// Why an older state could not be read.
package enum HistoryError: Error, Hashable, Sendable {
    /// The program `git` is not on the `PATH`.
    case noGit
    /// The directory lies in no work tree that git would read; `problem` has git's own words.
    case noRepository(directory: String, problem: String)
    /// What was named is no commit of the repository.
    case noRevision(directory: String, name: String, isShallow: Bool)
    /// Neither git nor a folder was named as the place of older bundles.
    case noPlace(String)
    /// The path is not one below the dumps directory.
    case invalidPath(String)
    /// git failed; `problem` has its own words.
    case git(directory: String, command: String, problem: String)
    /// Something is larger than `Limits` allow; `limit` names the limit.
    case overLimit(place: String, limit: String, allowed: Int)
    /// A bundle or a lock cannot be read, or is not what it was found as.
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
                    ? "the clone is shallow, git fetch --unshallow brings the rest" : "git log shows what there is")
        case .noPlace(let path): "\(path): expected git, or a folder of older bundles; found no such folder"
        case .invalidPath(let path):
            "\(String(reflecting: path)): expected a path below the dumps directory, such as main/regions.zip"
        case .git(let directory, let command, let problem):
            "\(directory): git \(command) failed: \(problem); git fsck tells whether the repository is whole"
        case .overLimit(let place, let limit, let allowed):
            "\(place): expected at most \(allowed) (Limits.\(limit)), found more; name a bundle's path instead"
        case .bundle(let error): "\(error)"
        case .file(let error): "\(error)"
        }
    }
}
