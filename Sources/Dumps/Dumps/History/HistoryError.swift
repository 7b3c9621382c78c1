import RemoteSettingsModel
import SnapshotBundle

/// Why an older state could not be read.
package enum HistoryError: Error, Hashable, Sendable {
    /// The program `git` is not on the `PATH`.
    case noGit
    /// The directory is not in a work tree that git can read. `problem` is git's own message.
    case noRepository(directory: String, problem: String)
    /// The name does not refer to a commit of the repository.
    case noRevision(directory: String, name: String, isShallow: Bool)
    /// The place for older bundles is neither `git` nor an existing folder.
    case noPlace(String)
    /// The path is not in the dumps directory.
    case invalidPath(String)
    /// git failed. `problem` is git's own message.
    case git(directory: String, command: String, problem: String)
    /// The commit has a pointer of Git LFS, and the filter does not give the file.
    case largeFile(place: String, problem: String)
    /// The clone lacks files of the repository, because it was made with a filter.
    case partialClone(directory: String, problem: String)
    /// The clone lacks the commit from which two sides come, because only the newest commits were cloned.
    case noAncestor(directory: String)
    /// There is more than the search allows. `limit` says what there is too much of.
    case overLimit(place: String, limit: String, allowed: Int)
    /// A bundle or a lock cannot be read, or has been replaced since it was found.
    case bundle(BundleError)
    case file(BundleError)
}

extension HistoryError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noGit: "git is not on the PATH; install it, or give a folder of older bundles"
        case .noRepository(let directory, let problem):
            "\(directory): expected a directory in a git work tree, found none that git reads (\(problem)); "
                + "give a bundle or a folder of older bundles instead"
        case .noRevision(let directory, let name, let isShallow):
            "\(directory): expected a commit, found none named \(VisibleText.quote(name)); "
                + (isShallow
                    ? "this clone is shallow; run git fetch --unshallow" : "list the commits with: git log")
        case .noPlace(let path): "\(path): expected git, or a folder of older bundles; found no such folder"
        case .invalidPath(let path):
            "\(VisibleText.quote(path)): expected a path below the dumps directory, such as main/regions.zip"
        case .git(let directory, let command, let problem):
            "\(directory): git \(command) failed: \(problem); check the repository with: git fsck"
        case .largeFile(let place, let problem):
            "\(place): expected a file, found \(LargeFilePointer.name), and git's filter does not give its content "
                + "(\(problem)); install git-lfs, and run git lfs install and git lfs fetch --all"
        case .partialClone(let directory, let problem):
            "\(directory): this clone has only some files of the repository (git clone --filter), and rsdump does not "
                + "fetch others: \(problem); fetch all with: git fetch --refetch --no-filter"
        case .noAncestor(let directory):
            "\(directory): this clone has only the newest commits, and not the one from which both sides come; fetch "
                + "the others with: git fetch --unshallow"
        case .overLimit(let place, let limit, let allowed):
            "\(place): expected at most \(allowed) \(limit), found more; give the path of one bundle instead"
        case .bundle(let error): "\(error)"
        case .file(let error): "\(error)"
        }
    }
}
