import ArgumentParser
import Dumps
import RemoteSettingsModel
import SnapshotBundle

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// `rsdump merge`
struct MergeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "merge",
        abstract: "Merge the lock file and the bundles of two branches.",
        usage: "rsdump merge [<options>]",
        discussion: """
            Run this after a git merge, rebase or cherry-pick stops with conflicts. For each collection, it keeps the \
            newer state that verifies. With --setup, git merge does this automatically from then on; after a rebase or \
            cherry-pick, run it yourself.
              rsdump merge && git add dumps && git commit
              rsdump merge --setup    once in each clone
            For details, see DumpsInGit.md in share/doc/rsdump.
            """)

    @Option(
        name: .customLong("with"),
        help: ArgumentHelp("The other commit; by default, the one that git is merging.", valueName: "rev"))
    var revision: String?

    @Flag(help: "Set up git to merge and show bundles in this clone automatically.")
    var setup = false

    /// The arguments that git passes to its merge driver: the file with our version, which is also the output file, and
    /// its path in the repository.
    @Option(name: .customLong("driver"), parsing: .remaining, help: .hidden)
    var driven: [String] = []

    @OptionGroup var dumps: DumpsOptions

    func validate() throws {
        if setup, revision != nil { throw ValidationError("--setup cannot be combined with --with") }
        if !driven.isEmpty, driven.count != 2 { throw ValidationError("--driver expects a file and a path") }
    }

    func run() async throws {
        if setup { return try await setUp() }
        if driven.count == 2 { return try await mergeFile(driven[0], at: driven[1]) }
        let directory = dumps.directory
        guard try FileStore.isDirectory(directory.path) else {
            throw CommandFailure(.usage, "\(directory.path): there is no such directory; give another one with --dumps")
        }
        let (name, ancestor) = try await other(directory.path)
        // The git hook runs this command in every merge, and usually there is nothing to do.
        let isHook = revision == nil && Self.merging != nil
        let merge = try await DumpsMerge.write(into: directory, onlyChosen: isHook) {
            try await DumpsMerge(
                in: directory.path, with: name, ancestor: ancestor,
                resolved: revision == nil && !isHook ? try? directory.configuration() : nil,
                policy: { try $0.policy(file: directory.configurationPath) })
        }
        if isHook, merge.choices.isEmpty { return }
        for choice in merge.choices { Console.print(choice.text) }
        if isHook {
            let files = ["dumps.lock.json"] + merge.choices.map { LockFile.Bundle.path(of: $0.collection) }
            guard try await GitRepository(containing: directory.path).stage(files) else { return }
            // Git has already made the tree that it would commit.
            throw CommandFailure(
                .someFailed, "\(directory.path): these bundles are staged; complete the merge with: git commit")
        }
        if merge.choices.isEmpty { Console.print("no collection changed on both sides") }
        let isResolved = (try? directory.configurationOrDefault()) != nil
        Console.print(
            "the lock file has \(Counted.text(merge.lock.collections.count, "collection")); next: "
                + (isResolved ? "" : "resolve the conflicts in \(directory.configurationPath), then run ")
                + "git add \(dumps.path)")
    }

    /// The commit that `git merge` passes to its subprocesses; `nil` if there are several, or if git did not start this
    /// program.
    static var merging: String? {
        let heads = ProcessInfo.processInfo.environment.keys.filter { $0.hasPrefix("GITHEAD_") }
        return heads.count == 1 ? heads.first.map { String($0.dropFirst("GITHEAD_".count)) } : nil
    }

    /// Returns the commit to merge into `HEAD`, and the ancestor to use; `nil` for git's merge base.
    private func other(_ directory: String) async throws -> (name: String, ancestor: String?) {
        if let revision { return (revision, nil) }
        if let head = Self.merging { return (head, nil) }
        let repository = try await GitRepository(containing: directory)
        guard let name = try await repository.incoming() else {
            throw CommandFailure(
                .usage,
                "\(directory): no git merge, rebase or cherry-pick is in progress; give the other commit with --with "
                    + "REV, or go back to an earlier state with rsdump pin --at")
        }
        return (name, name == "MERGE_HEAD" ? nil : "\(name)^")
    }

    /// Merges one file for git. Git runs this for each conflicting file and shows its standard error.
    private func mergeFile(_ file: String, at path: String) async throws {
        let parts = path.split(separator: "/").map(String.init)
        let isLock = parts.last == "dumps.lock.json"
        let folder = parts.dropLast(isLock ? 1 : 2).joined(separator: "/")
        let directory = DumpsDirectory(folder.isEmpty ? "." : folder)
        // In a rebase, git does not pass the commit. The rebase then stops, and the user runs `rsdump merge`.
        guard let head = Self.merging else {
            throw CommandFailure(
                .someFailed, "\(path): git does not report which commit it is merging; run: rsdump merge")
        }
        let merge = try await DumpsMerge(
            in: directory.path, with: head, policy: { try $0.policy(file: directory.configurationPath) })
        if isLock {
            for choice in merge.choices { Console.error("note: \(choice.text)") }
            return try FileStore.replace(file, with: Bytes(merge.lock.text), limit: Limits.lockBytes)
        }
        guard parts.count >= 2, let name = parts.last, name.hasSuffix(".zip"),
            let id = try? CollectionID(bucket: parts[parts.count - 2], name: String(name.dropLast(4))),
            let bytes = try await merge.bundle(id)
        else {
            throw CommandFailure(
                .someFailed,
                "\(path): the merged lock file does not list this bundle; remove it, then run: rsdump merge")
        }
        try FileStore.replace(file, with: bytes)
    }

    private func setUp() async throws {
        let directory = dumps.directory
        let repository = try await GitRepository(containing: directory.path)
        // `Bundle` would link all of Foundation, whose ICU data adds 37 MB to the program.
        guard let program = FileStore.program else {
            throw CommandFailure(.someFailed, "the path of this rsdump cannot be determined; run it by its full path")
        }
        let isNew = try directory.writeGitAttributes()
        if let left = try await GitSetup(in: repository, running: program).install() { Console.error("note: \(left)") }
        Console.print(
            "\(directory.path)/.gitattributes \(isNew ? "was written; commit it" : "already has the attributes")")
        Console.print("git now merges and shows the bundles of this clone with \(program)")
    }
}

extension DumpsMerge.Choice {
    /// A description of the choice on one line.
    fileprivate var text: String {
        guard let isTheirs, let timestamp else { return "\(collection): removed, because \(reason)" }
        return "\(collection): kept \(isTheirs ? "theirs" : "ours"), of \(timestamp.rfc3339), because "
            + Console.visible(reason)
    }
}
