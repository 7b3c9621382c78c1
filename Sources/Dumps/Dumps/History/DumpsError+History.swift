import RemoteSettingsModel
import SnapshotBundle

// Why an older state could not be read, or two states cannot be compared or merged.
extension DumpsError {
    static let noGit = Self(
        problem: "git is not on the PATH", remedy: "install it, or give a folder of older bundles")

    /// - Parameter problem: git's own message.
    static func noRepository(directory: String, problem: String) -> Self {
        Self(
            file: directory, problem: "the directory is not in a git work tree (\(problem))",
            remedy: "give a bundle or a folder of older bundles instead")
    }

    /// The name does not refer to a commit of the repository.
    static func noRevision(directory: String, name: String, isShallow: Bool) -> Self {
        Self(
            file: directory, problem: "there is no commit named \(VisibleText.quote(name))",
            remedy: isShallow
                ? "this clone is shallow; run git fetch --unshallow" : "list the commits with: git log")
    }

    /// The place for older bundles is neither `git` nor an existing folder.
    static func noPlace(_ path: String) -> Self {
        Self(file: path, problem: "there is no such folder", remedy: "write git, or give a folder of older bundles")
    }

    static func invalidPath(_ path: String) -> Self {
        Self(
            file: VisibleText.quote(path), problem: "the path is not in the dumps directory",
            remedy: "give a path below it, such as main/regions.zip")
    }

    /// - Parameter problem: git's own message.
    static func git(directory: String, command: String, problem: String) -> Self {
        Self(
            .program, file: directory, problem: "git \(command) failed: \(problem)",
            remedy: "check the repository with: git fsck")
    }

    /// The commit has a pointer of Git LFS, and the filter does not give the file.
    static func largeFile(place: String, problem: String) -> Self {
        Self(
            .program, file: place,
            problem: "the commit has \(LargeFilePointer.name) instead of the file, and git's filter does not return "
                + "the file (\(problem))",
            remedy: "install git-lfs, and run git lfs install and git lfs fetch --all")
    }

    /// The clone lacks files of the repository, because it was made with a filter.
    static func partialClone(directory: String, problem: String) -> Self {
        Self(
            .program, file: directory,
            problem: "this clone has only some files of the repository (git clone --filter), and rsdump does not "
                + "fetch the missing ones: \(problem)",
            remedy: "fetch all with: git fetch --refetch --no-filter")
    }

    /// The clone lacks the commit from which two sides come, because only the newest commits were cloned.
    static func noAncestor(directory: String) -> Self {
        Self(
            .program, file: directory,
            problem: "this clone has only the newest commits, which do not include the common ancestor of both sides",
            remedy: "fetch the older commits with: git fetch --unshallow")
    }

    /// There is more than the search allows. `limit` says what there is too much of.
    static func overLimit(place: String, limit: String, allowed: Int) -> Self {
        Self(
            .refused, file: place, problem: "there are more than \(allowed) \(limit)",
            remedy: "give the path of one bundle instead")
    }

    /// A bundle or a lock file cannot be read, or has been replaced since it was found.
    static func bundle(_ error: BundleError) -> Self {
        // Whoever names an older bundle that cannot be opened has named the wrong one.
        Self(error.code == .storage ? .usage : error.failureCode ?? .damaged, kind: .bundle, problem: "\(error)")
    }

    static func file(_ error: BundleError) -> Self {
        Self(error.failureCode ?? .storage, kind: .file, problem: "\(error)")
    }

    /// Neither state of a collection can be merged.
    static func nothingVerifies(_ id: CollectionID, problem: String) -> Self {
        Self(
            file: "\(id)", problem: "neither side's state verifies: \(problem)",
            remedy: "restore one side's dumps.lock.json and bundle with git checkout --ours or --theirs, and run "
                + "rsdump refresh")
    }

    /// The things to compare do not exist.
    static func notComparable(_ problem: String) -> Self { Self(problem: problem) }

    /// The merge must not choose this state.
    static func notEligible(_ problem: String) -> Self { Self(.untrusted, problem: problem) }
}
