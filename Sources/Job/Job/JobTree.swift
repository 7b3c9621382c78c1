import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// A work tree of a job's own inside the clone's git directory. Each run makes it and its index anew from a commit;
/// only downloads and backoffs of the last run are kept.
package struct JobTree: Sendable {
    let clone: JobClone
    /// The commit that the tree is made from.
    let base: String
    /// The dumps directory, from the top of the repository.
    let dumps: String
    /// Where the tree is.
    package let path: String
    private let git: GitCommand

    /// The files of the dumps directory.
    package var directory: DumpsDirectory { DumpsDirectory("\(path)/\(dumps)") }

    /// Makes the tree with the files of a commit or another tree. Runs git; uses the network in a clone without files.
    ///
    /// - Parameters:
    ///   - tree: the files; `nil` for those of the commit.
    ///   - isWhole: whether all files are checked out, or only the dumps and the settings of git.
    package init(
        _ clone: JobClone, at path: String, from base: String, tree: String? = nil, dumps: String, isWhole: Bool
    ) async throws {
        self.clone = clone
        self.base = base
        self.dumps = dumps
        self.path = path
        let kept = "\(path).downloads"
        let work = DumpsDirectory("\(path)/\(dumps)").workPath
        // A run that was killed has not put them back.
        if try FileStore.isDirectory(work) {
            try FileStore.removeTree(kept)
            try FileStore.rename(work, to: kept)
        }
        try FileStore.removeTree(path)
        _ = try await clone.git.checked(["worktree", "add", "-q", "--force", "--no-checkout", "--detach", path, base])
        git = GitCommand(directory: path, seconds: 1800, access: .remote, settings: Self.settings)
        let sparse = try await git.checked(["rev-parse", "--git-path", "info/sparse-checkout"]).text
        let wanted =
            isWhole ? ["/*"] : ["/.gitattributes", "/.gitignore", "/.lfsconfig", "/\(Self.pattern(dumps))/"]
        let list = sparse.hasPrefix("/") ? sparse : "\(path)/\(sparse)"
        try FileStore.makeDirectories(FileStore.parent(of: list))
        try FileStore.replace(list, with: Bytes(utf8: wanted.joined(separator: "\n") + "\n"))
        _ = try await git.checked(["read-tree", "--reset", "-u", tree ?? base])
        try await checkAttributes()
        try FileStore.makeDirectories(directory.path)
        if try FileStore.isDirectory(kept) {
            // Only a running rsdump writes these, and nothing of them may come from an earlier run.
            try FileStore.removeTree("\(kept)/next.json")
            try FileStore.removeTree(directory.workPath)
            try FileStore.rename(kept, to: directory.workPath)
        }
    }

    /// The files are those of the commit, whatever a person wants to see in a work tree.
    private static let settings = [
        "core.sparseCheckout=true", "core.sparseCheckoutCone=false", "core.autocrlf=false", "core.eol=lf",
        "core.safecrlf=false", "core.symlinks=true", "core.ignoreCase=false", "core.excludesFile=/dev/null",
        "core.attributesFile=/dev/null",
    ]

    private static func pattern(_ path: String) -> String {
        path.reduce(into: "") { $0 += "[]*?\\".contains($1) ? "\\\($1)" : "\($1)" }
    }

    /// Adds the changes at or below some paths to the index. Runs git's filters, such as Git LFS.
    ///
    /// - Throws: ``JobProblem`` if git ignores some of the files.
    func add(_ paths: [String]) async throws {
        let ignored = try await git.checked(
            ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--"] + paths.map { ":(literal)\($0)" }
        ).parts.filter { !$0.split(separator: "/").contains("\(DumpsDirectory.workName)") }
        guard ignored.isEmpty else {
            throw JobProblem(
                .usage,
                "git ignores \(MarkdownText.codes(ignored)); nothing was committed; remove the rule from .gitignore or .git/info/exclude"
            )
        }
        for path in paths {
            let isThere = try FileStore.kind("\(self.path)/\(path)") != nil
            let isKnown = try await !clone.entries(base, [path]).isEmpty
            // git refuses a path where nothing is.
            guard isThere || isKnown else { continue }
            _ = try await git.checked(["add", "-A", "--", ":(literal)\(path)"])
        }
    }

    /// Replaces entries of the index, without their files.
    func replace(_ entries: JobClone.Entries, old: JobClone.Entries) async throws {
        _ = try await git.checked(
            ["update-index", "-z", "--index-info"], input: Self.indexInfo(entries, replacing: old))
    }

    /// Returns the tree of the index. In a clone without files, none of them is fetched for that.
    func written() async throws -> String { try await git.checked(["write-tree", "--missing-ok"]).text }

    /// Returns the files that differ from the index, except those at or below some paths.
    func changes(besides paths: [String]) async throws -> [String] {
        let listed = try await git.checked(
            ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--", "."]
                + paths.map { ":(exclude,literal)\($0)" })
        return listed.parts.map { String($0.dropFirst(3)) }
    }

    /// Checks that git keeps the bytes of bundles: that they are no text, and that this clone has the filter of Git LFS
    /// if that keeps them. Without it, a commit would take them out of LFS.
    private func checkAttributes() async throws {
        let found = try await git.checked(
            ["check-attr", "-z", "filter", "text", "eol", "--", "\(dumps)/bucket/collection.zip"]
        ).parts
        // Path, name and value of each. Where `text` is not set, `eol` sets it.
        let (filter, text, eol) = (found.dropFirst(2).first, found.dropFirst(5).first, found.last)
        guard text != "set", text != "unspecified" || eol == "unspecified" else {
            throw JobProblem(.usage, "git takes the bundles for text; add this line to `.gitattributes`: `*.zip -text`")
        }
        guard filter == "lfs" else { return }
        let programs = ["config", "--get-regexp", #"^filter\.lfs\.(process|clean)$"#]
        guard try await git.run(programs, limit: .whole).status == 0 else {
            throw JobProblem(
                .usage,
                "the bundles are in Git LFS, but this clone has no LFS filter; install git-lfs, and run git lfs install"
            )
        }
    }

    /// Makes a commit of a tree, with a committer if none is configured. Moves no branch.
    package func commit(_ tree: String, parents: [String], message: String) async throws -> String {
        let known = try await git.run(
            ["config", "--name-only", "--get-regexp", #"^user\.(name|email)$"#], limit: .whole)
        let isKnown = Set(known.text.split(separator: "\n")).count == 2
        let who = isKnown ? [] : ["-c", "user.name=rsdump", "-c", "user.email=rsdump@localhost"]
        return try await git.checked(
            who + ["commit-tree", tree] + parents.flatMap { ["-p", $0] }, input: Array(message.utf8)
        ).text
    }

    /// Removes the tree.
    package func remove() async throws {
        try FileStore.removeTree(path)
        // Not prune: a person's work tree may be on a disk that is not mounted.
        _ = try await clone.git.checked(["worktree", "remove", "--force", path])
    }
}
