import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// The clone of a git repository in which a job runs, and the remote that it fetches from and pushes to.
///
/// A job reads commits, and writes objects and the refs of the remote. It never touches the person's work tree, index,
/// branches, stash or settings.
package struct JobClone: Sendable {
    /// The commits of a branch and its base on the remote.
    package struct Heads: Hashable, Sendable {
        package let base: String
        /// The commit of the branch; `nil` if the remote has no such branch.
        package let branch: String?
    }

    /// A file of a commit: its mode and the hash of its object, as git prints them.
    package typealias Entries = [ExactString: String]

    /// The top of the person's work tree.
    package let top: String
    /// The git directory that all work trees of the clone share.
    let common: String
    let remote: String
    let git: GitCommand

    /// Finds the clone that contains the current directory. Runs git.
    ///
    /// - Throws: ``JobProblem`` with the code for usage if there is none, or if it has no such remote.
    package init(remote: String) async throws {
        let here = GitCommand(directory: ".", seconds: 60)
        let found = try await here.run(["rev-parse", "--show-toplevel", "--git-common-dir"], limit: .whole)
        let lines = found.text.split(separator: "\n").map { String($0) }
        guard found.status == 0, lines.count == 2 else {
            throw JobProblem(
                .usage,
                "git finds no work tree here: \(found.message); run this in a clone of the repository with the dumps")
        }
        top = lines[0]
        common = try FileStore.absolute(lines[1])
        self.remote = remote
        git = GitCommand(directory: top, seconds: 1800, access: .remote, settings: ["remote.\(remote).mirror=false"])
        guard try await git.run(["remote", "get-url", remote], limit: .whole).status == 0 else {
            throw JobProblem(
                .usage, "this clone has no remote named \(remote); add it with: git remote add \(remote) URL")
        }
    }

    /// Returns the URL of the remote.
    package func url() async throws -> String { try await git.checked(["remote", "get-url", remote]).text }

    /// Makes a job's directory, and locks it as long as the run is active.
    func lock(_ folder: String) throws -> DirectoryLock {
        try FileStore.makeDirectories(folder)
        guard let lock = try DirectoryLock(folder) else {
            throw JobProblem(.tryAgain, "another run is active in this clone; try again when it has finished")
        }
        return lock
    }

    /// Returns the name of the remote's default branch; `nil` if it has none. Uses the network.
    package func defaultBranch() async throws -> String? {
        let head = try await asking(["ls-remote", "--symref", remote, "HEAD"]).text.split(separator: "\n").first ?? ""
        let words = head.split(whereSeparator: \.isWhitespace)
        guard words.count == 3, words[0] == "ref:", words[1].hasPrefix("refs/heads/") else { return nil }
        return String(words[1].dropFirst("refs/heads/".count))
    }

    /// Returns the commit of a branch on the remote; `nil` if there is none. Uses the network.
    package func head(of branch: String) async throws -> String? {
        try await heads([branch])[branch.exact]
    }

    private func heads(_ branches: [String]) async throws -> [ExactString: String] {
        let names = branches.map { "refs/heads/\($0)" }
        var found: [ExactString: String] = [:]
        for line in try await asking(["ls-remote", "--heads", remote] + names).text.split(separator: "\n") {
            let words = line.split(separator: "\t")
            // git also prints branches whose names end with this one.
            guard words.count == 2, names.contains(where: { $0.exact == String(words[1]).exact }) else { continue }
            found[String(words[1].dropFirst("refs/heads/".count)).exact] = String(words[0])
        }
        return found
    }

    /// Fetches the base and the branch, and in a shallow clone as many commits as lead to where they part. Uses the
    /// network.
    package func fetch(base: String, branch: String) async throws -> Heads {
        let found = try await heads([base, branch])
        guard found[base.exact] != nil else {
            throw JobProblem(.tryAgain, "\(remote) has no branch \(base); give a different one with --base")
        }
        let hasBranch = found[branch.exact] != nil && branch.exact != base.exact
        let names = hasBranch ? [base, branch] : [base]
        let specs = names.map { "+refs/heads/\($0):\(ref($0))" }
        let isShallow = try await isShallow()
        _ = try await asking(["fetch", "-q", "--no-tags", remote] + (isShallow ? [specs[0]] : specs))
        if isShallow, hasBranch {
            // Without a depth, a branch from before a shallow clone's oldest commit would bring its whole history. A depth
            // below the number of commits would remove the oldest ones.
            let count = Int(try await git.checked(["rev-list", "--count", "--all"]).text) ?? 0
            let depth = "--depth=\(count + Self.step)"  // bounded: by git's commits
            _ = try await asking(["fetch", "-q", "--no-tags", depth, remote, specs[1]])
        }
        let heads = Heads(
            base: try await git.checked(["rev-parse", ref(base)]).text,
            branch: hasBranch ? try await git.checked(["rev-parse", ref(branch)]).text : nil)
        if let tip = heads.branch { try await deepen(until: heads.base, tip, branches: names) }
        return heads
    }

    /// Fetches as many commits as lead to where two of them part, if this is a shallow clone. Uses the network.
    func deepen(until one: String, _ other: String, branches: [String]) async throws {
        let specs = branches.map { "+refs/heads/\($0):\(ref($0))" }
        var step = Self.step
        while try await ancestor(one, other) == nil, try await isShallow(), step < 1 << 30 {
            _ = try await asking(["fetch", "-q", "--no-tags", "--deepen=\(step)", remote] + specs)
            step *= 4  // bounded: by the condition
        }
    }

    /// How many more commits a shallow clone fetches at first.
    private static let step = 64

    private func isShallow() async throws -> Bool {
        try await git.checked(["rev-parse", "--is-shallow-repository"]).text == "true"
    }

    /// Returns the ref that keeps the commit of a branch on the remote.
    func ref(_ branch: String) -> String { "refs/remotes/\(remote)/\(branch)" }

    /// Runs a command that asks the remote. If it fails, the next run tries again.
    private func asking(_ arguments: [String]) async throws -> GitCommand.Result {
        do throws(Failure) {
            return try await git.checked(arguments)
        } catch {
            throw JobProblem(.tryAgain, error.problem)
        }
    }

    /// Returns the common ancestor of two commits; `nil` if they have none.
    package func ancestor(_ one: String, _ other: String) async throws -> String? {
        let found = try await git.run(["merge-base", one, other], limit: .whole)
        return found.status == 0 ? found.text.split(separator: "\n").first.map { String($0) } : nil
    }

    package func isAncestor(_ one: String, of other: String) async throws -> Bool {
        try await git.run(["merge-base", "--is-ancestor", one, other], limit: .whole).status == 0
    }

    /// Returns whether a base has, or once had, all that a branch changes, as after a squash merge.
    func hasLanded(_ tip: String, since fork: String, on base: String) async throws -> Bool {
        let (_, new, changed) = try await changes(from: fork, to: tip)
        guard let first = changed.first?.string else { return true }
        let commits = try await git.checked(
            ["rev-list", "--first-parent", base, "^\(fork)", "--", ":(literal)\(first)"]).text.split(separator: "\n")
        for commit in [base] + commits.map({ String($0) }) {
            let landed = try await entries(commit, changed.map(\.string))
            if changed.allSatisfy({ new[$0] == landed[$0] }) { return true }
        }
        return false
    }

    /// Returns the files of a commit or a tree at or below some paths.
    package func entries(_ tree: String, _ paths: [String]) async throws -> Entries {
        var entries: Entries = [:]
        // The system limits the length of a command.
        for start in stride(from: 0, to: paths.count, by: 200) {
            let some = paths[start..<min(start + 200, paths.count)]  // bounded: by the number of paths
            for line in try await git.checked(["ls-tree", "-r", "-z", "--full-tree", tree, "--"] + some).parts {
                guard let tab = line.firstIndex(of: "\t") else { continue }
                let words = line[..<tab].split(separator: " ")
                guard words.count == 3 else { continue }
                entries[String(line[line.index(after: tab)...]).exact] = "\(words[0]) \(words[2])"
            }
        }
        return entries
    }

    /// Returns the files that differ between two commits: those of the first one, those of the second, and all paths.
    func changes(from one: String, to other: String) async throws -> (old: Entries, new: Entries, paths: [ExactString])
    {
        let parts = try await git.checked(["diff-tree", "-r", "-z", "--no-renames", one, other]).parts
        var (old, new, paths): (Entries, Entries, [ExactString]) = ([:], [:], [])
        for position in stride(from: 0, to: parts.count - 1, by: 2) {
            // ":OLDMODE NEWMODE OLDHASH NEWHASH STATUS", then the path.
            let words = parts[position].dropFirst().split(separator: " ")
            guard words.count == 5 else { continue }
            let path = parts[position + 1].exact
            paths.append(path)
            if words[4] != "A" { old[path] = "\(words[0]) \(words[2])" }
            if words[4] != "D" { new[path] = "\(words[1]) \(words[3])" }
        }
        return (old, new, paths)
    }

    /// Lets git fetch, at once, the files in which two trees differ below a path, in a clone without them (--filter).
    func fetchFiles(_ one: String, _ other: String, below path: String) async throws {
        _ = try await asking(["diff-tree", "-r", "--shortstat", one, other, "--", ":(literal)\(path)"])
    }

    /// Returns a file's content in a commit, as a checkout would write it.
    package func file(_ path: String, in commit: String) async throws -> Bytes {
        Bytes(try await git.checked(["cat-file", "--filters", "\(commit):\(path)"]).output)
    }

    /// The result of a push.
    package enum Pushed: Hashable, Sendable {
        case done
        /// Somebody else has changed the branch since it was fetched.
        case overtaken
    }

    /// Pushes a commit to a branch, unless the branch is no longer at the expected commit. Uses the network, and runs
    /// the hook that uploads files of Git LFS.
    ///
    /// - Parameter expected: the commit of the branch on the remote; `nil` if the branch must not exist.
    /// - Throws: ``JobProblem`` with git's own words if the remote refuses it.
    package func push(
        _ commit: String, to branch: String, replacing expected: String?, options: [String] = []
    ) async throws -> Pushed {
        let lease = "--force-with-lease=refs/heads/\(branch):\(expected ?? "")"
        let pushed = try await git.run(
            ["push", "-q", lease] + options.map { "--push-option=\($0)" } + [remote, "\(commit):refs/heads/\(branch)"],
            limit: .whole)
        guard pushed.status != 0 else {
            _ = try await git.checked(["update-ref", ref(branch), commit])
            return .done
        }
        if let now = try? await heads([branch])[branch.exact] ?? "" {
            if now == commit { return .done }
            if now != expected ?? "" { return .overtaken }
        }
        throw JobProblem(.tryAgain, "git push to \(remote) failed: \(pushed.message); the next run tries again")
    }
}
