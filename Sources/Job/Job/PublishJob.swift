import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// The job that publishes from git: it publishes in a tree of its own, commits the dumps, and pushes them. If somebody
/// else has pushed meanwhile, it publishes again on top of that, because timestamps only go forward.
///
/// It never touches the person's work tree, index and branches.
package struct PublishJob: Sendable {
    private let clone: JobClone
    private let branch: String
    private let dumps: String
    /// The longest series of runs in which somebody else pushes each time.
    private static let mostTries = 5

    /// Creates a job.
    ///
    /// - Parameters:
    ///   - branch: the branch to push to; `nil` for the current one.
    ///   - dumps: the dumps directory, from the top of the repository.
    package init(_ clone: JobClone, branch: String?, dumps: String) async throws {
        self.clone = clone
        self.dumps = dumps
        if let branch {
            self.branch = branch
        } else {
            let head = try await clone.git.run(["symbolic-ref", "-q", "--short", "HEAD"], limit: .whole)
            guard head.status == 0 else {
                throw JobProblem(.usage, "there is no current branch to push to; check one out")
            }
            self.branch = head.text
        }
    }

    /// Publishes, commits and pushes. Runs git; uses the network.
    ///
    /// - Parameters:
    ///   - inputs: the paths that are read, besides the dumps.
    ///   - message: the message of the commit.
    ///   - publish: changes the dumps in the tree at a path, and verifies them.
    /// - Returns: the commit; `nil` if nothing has changed.
    /// - Throws: ``JobProblem``, or the errors of `publish`.
    package func run(
        reading inputs: [String], message: String, _ publish: (_ tree: String) async throws -> Void
    ) async throws -> String? {
        let paths = [dumps] + inputs
        let edited = try await clone.edited(paths)
        guard edited.isEmpty else {
            throw JobProblem(
                .usage, "\(edited[0]) has changes that are not committed; commit or stash them, and run this again")
        }
        let folder = "\(clone.common)/rsdump-publish"
        let lock = try clone.lock(folder)
        defer { withExtendedLifetime(lock) {} }
        for _ in 0..<Self.mostTries {
            let (start, remote) = try await clone.start(on: branch)
            let tree = try await JobTree(clone, at: "\(folder)/tree", from: start, dumps: dumps, isWhole: true)
            try await publish(tree.path)
            try await tree.add([dumps])
            let files = try await tree.written()
            guard try await clone.entries(files, [dumps]) != clone.entries(start, [dumps]) else { return nil }
            let commit = try await tree.commit(files, parents: [start], message: message + "\n")
            if try await clone.push(commit, to: branch, replacing: remote) == .done { return commit }
        }
        throw JobProblem(.tryAgain, "somebody else pushed each time; run this again")
    }
}

extension JobClone {
    /// Returns the files at or below some paths that differ from the commit, in the person's work tree or index.
    fileprivate func edited(_ paths: [String]) async throws -> [String] {
        try await git.checked(
            ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--"]
                + paths.map { ":(literal)\($0)" }
        ).parts.map { String($0.dropFirst(3)) }
    }

    /// Returns the commit to build on: the newer one of the current commit and that of the branch on the remote, which
    /// is `nil` if there is no such branch. Uses the network.
    fileprivate func start(on branch: String) async throws -> (start: String, remote: String?) {
        let own = try await git.checked(["rev-parse", "HEAD"]).text
        guard try await head(of: branch) != nil else { return (own, nil) }
        let remote = try await fetch(base: branch, branch: branch).base
        if try await isAncestor(remote, of: own) { return (own, remote) }
        try await deepen(until: own, remote, branches: [branch])
        guard try await isAncestor(own, of: remote) else {
            throw JobProblem(
                .usage,
                "the current commit and \(self.remote)/\(branch) have different changes; run git pull first")
        }
        return (remote, remote)
    }
}
