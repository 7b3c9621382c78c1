import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// The files that a nightly run starts from: those of the base, with the dumps directory of the branch.
///
/// Nothing outside of the dumps directory comes from the branch, which nobody has reviewed. If both have changed the
/// dumps, documents and `dumps.yaml` are merged here, and the bundles by ``DumpsMerge``.
struct StartTree: Sendable {
    let clone: JobClone
    let dumps: String
    /// A directory for temporary files.
    let scratch: String

    /// Makes the tree. Runs git.
    ///
    /// - Returns: the tree, and whether the bundles of the branch must be merged into it.
    func tree(of place: NightlyJob.Place) async throws -> (tree: String, merges: Bool) {
        let base = place.heads.base
        guard let fork = place.fork, let tip = place.heads.branch else { return (base, false) }
        let (old, ours, theirs) = (
            try await clone.entries(fork, [dumps]), try await clone.entries(base, [dumps]),
            try await clone.entries(tip, [dumps])
        )
        var entries = theirs
        let merges = ours != old
        if merges {
            entries = ours
            for path in Set(theirs.keys).union(old.keys) where !Self.isDerived(path.string) && theirs[path] != old[path]
            {
                if ours[path] == old[path] || ours[path] == theirs[path] {
                    entries[path] = theirs[path]
                } else {
                    entries[path] = try await merged(path.string, old[path], ours[path], theirs[path], place)
                }
            }
        }
        return (try await written(entries, over: ours, base), merges)
    }

    /// Whether a file is a bundle or the lock file.
    static func isDerived(_ path: String) -> Bool {
        path.hasSuffix(".zip") || path.hasSuffix("/\(LockFile.name)")
    }

    /// Merges a text that both sides have changed.
    private func merged(
        _ path: String, _ old: String?, _ ours: String?, _ theirs: String?, _ place: NightlyJob.Place
    ) async throws -> String {
        let conflict = JobProblem(
            .tryAgain,
            "cannot merge \(place.base) into \(place.branch): both have changed \(MarkdownText.code(path)); resolve the "
                + "conflict by hand")
        guard let old, let ours, let theirs else { throw conflict }
        var files: [String] = []
        for (name, entry) in [("ours", ours), ("old", old), ("theirs", theirs)] {
            let object = entry.split(separator: " ").last.map(String.init) ?? ""
            let text = try await clone.git.checked(["cat-file", "blob", object]).output
            files.append("\(scratch)/\(name).txt")
            try FileStore.replace(files[files.count - 1], with: Bytes(text))
        }
        defer { for file in files { try? FileStore.remove(file) } }
        let result = try await clone.git.run(["merge-file", "-p", "-q"] + files, limit: .whole)
        guard result.status == 0 else { throw conflict }
        let object = try await clone.git.checked(
            ["hash-object", "-w", "--stdin", "--no-filters"], input: result.output
        ).text
        return "\(ours.prefix { $0 != " " }) \(object)"
    }

    /// Returns a tree with other entries of the dumps directory than the base has.
    private func written(_ entries: JobClone.Entries, over ours: JobClone.Entries, _ base: String) async throws
        -> String
    {
        let index = ["GIT_INDEX_FILE": "\(scratch)/index"]
        defer { try? FileStore.remove("\(scratch)/index") }
        _ = try await clone.git.checked(["read-tree", base], variables: index)
        _ = try await clone.git.checked(
            ["update-index", "-z", "--index-info"], input: JobTree.indexInfo(entries, replacing: ours), variables: index
        )
        return try await clone.git.checked(["write-tree", "--missing-ok"], variables: index).text
    }
}

extension JobTree {
    /// Returns the lines with which `git update-index --index-info` replaces entries.
    static func indexInfo(_ entries: JobClone.Entries, replacing old: JobClone.Entries) -> [UInt8] {
        var lines: [UInt8] = []
        for (path, entry) in old.sorted(by: { $0.key < $1.key }) where entries[path] == nil {
            // Mode 0 removes an entry. The hash has the length of those of the repository.
            let hash = entry.split(separator: " ").last ?? ""
            lines += Array("0 \(String(repeating: "0", count: hash.utf8.count))\t\(path.string)\0".utf8)
        }
        for (path, entry) in entries.sorted(by: { $0.key < $1.key }) {
            lines += Array("\(entry)\t\(path.string)\0".utf8)
        }
        return lines
    }
}

extension JobClone {
    /// Returns the files that people have changed on the branch, as far as the base has not changed the same ones.
    ///
    /// - Parameter paths: what the job itself commits.
    func others(of place: NightlyJob.Place, besides paths: [String]) async throws -> (old: Entries, new: Entries) {
        guard let fork = place.fork, let tip = place.heads.branch else { return ([:], [:]) }
        let (old, new, changed) = try await changes(from: fork, to: tip)
        let names = changed.filter { path in
            !paths.contains { path == $0.exact || path.string.hasPrefix("\($0)/") }
        }
        let ours = try await entries(place.heads.base, names.map(\.string))
        let free = Set(names.filter { ours[$0] == old[$0] })
        return (old.filter { free.contains($0.key) }, new.filter { free.contains($0.key) })
    }
}
