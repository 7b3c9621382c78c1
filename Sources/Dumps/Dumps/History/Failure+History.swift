import RemoteSettingsModel
import SnapshotBundle

// Errors about older states that cannot be read, compared or merged.
extension Failure {
    static let noGit = Self(problem: "git is not on the PATH", remedy: "install it, or give a folder of older bundles")

    /// Returns an error for a directory outside of any git repository.
    ///
    /// - Parameter problem: git's own message.
    static func noRepository(directory: String, problem: String) -> Self {
        Self(
            place: directory, problem: "the directory is not in a git work tree (\(problem))",
            remedy: "run this in a clone of the repository that contains the dumps")
    }

    /// Returns an error for a name that does not refer to a commit of the repository.
    ///
    /// - Parameter gap: the reason that older commits are missing, and the remedy.
    static func noRevision(directory: String, name: String, gap: String?) -> Self {
        Self(
            place: directory, problem: "there is no commit named \(VisibleText.quote(name)) in this clone",
            remedy: gap ?? (name == "HEAD" ? "commit the dumps first" : "if it exists elsewhere, run: git fetch --tags")
        )
    }

    /// Returns an error for a value of `--at` that is not a name of a commit either.
    static func noState(_ name: String, gap: String?) -> Self {
        Self(
            problem: "\(VisibleText.quote(name)) is not a timestamp, a date such as 2026-11-30, or a commit",
            remedy: gap ?? "if it is a tag, run: git fetch --tags")
    }

    /// Returns an error for a source of older bundles that is neither `git` nor an existing folder.
    static func noPlace(_ path: String) -> Self {
        Self(
            place: path, problem: "there is no such folder",
            remedy: "give --history the word git, or an existing folder"
        )
    }

    static func invalidPath(_ path: String) -> Self {
        Self(
            place: VisibleText.quote(path), problem: "the path is not in the dumps directory",
            remedy: "give a path below it, such as main/markets.zip")
    }

    /// Returns an error for a failed run of git.
    ///
    /// - Parameter problem: git's own message.
    static func git(directory: String, command: String, problem: String) -> Self {
        Self(
            .program, place: directory, problem: "git \(command) failed: \(problem)",
            remedy: "check the repository with: git fsck")
    }

    /// Returns an error for a file in Git LFS that git's filter does not return.
    static func largeFile(place: String, problem: String) -> Self {
        Self(
            .program, place: place,
            problem: "the commit has \(LargeFilePointer.name) instead of the file, and git's filter does not return "
                + "the file (\(problem))",
            remedy: "install git-lfs, and run git lfs install and git lfs fetch --all")
    }

    /// Returns an error for files that are missing because the clone was made with a filter.
    static func partialClone(directory: String, problem: String) -> Self {
        Self(
            .program, place: directory,
            problem: "this clone has only some files of the repository (git clone --filter), and rsdump does not "
                + "fetch the missing ones: \(problem)",
            remedy: "fetch all files with: git fetch --refetch --no-filter")
    }

    /// Returns an error for a common ancestor that is missing because the clone is shallow.
    ///
    /// - Parameter gap: the reason that older commits are missing, and the remedy.
    static func noAncestor(directory: String, gap: String) -> Self {
        Self(.program, place: directory, problem: "the common ancestor of both sides is missing", remedy: gap)
    }

    /// Returns an error for a search that exceeds a limit.
    ///
    /// - Parameter limit: the unit of the limit, such as `bytes`.
    static func overLimit(place: String, limit: String, allowed: Int) -> Self {
        Self(
            .refused, place: place, problem: "there are more than \(allowed) \(limit)",
            remedy: "give the path of one bundle instead")
    }

    /// Returns the failure of reading an older bundle. If a file given by the user cannot be opened, that is a usage
    /// error.
    static func historic(_ error: Failure) -> Self {
        error.code == .storage ? Self(problem: "\(error)", cause: .historicBundle) : error
    }

    /// Returns an error for a collection of which neither side has a state that verifies.
    static func nothingVerifies(_ id: CollectionID, problem: String) -> Self {
        Self(
            place: "\(id)", problem: "neither side has a bundle that verifies: \(problem)",
            remedy: "restore one side's dumps.lock.json and bundle with git checkout --ours or --theirs, and run "
                + "rsdump refresh")
    }

    /// Returns an error for a comparison of bundles, directories or collections that do not exist.
    static func notComparable(_ problem: String) -> Self { Self(problem: problem) }

    /// Returns an error for a state that the merge must not choose.
    static func notEligible(_ problem: String) -> Self { Self(.untrusted, problem: problem) }
}
