import ArgumentParser
import Dumps
import Foundation
import RemoteSettingsModel
import SnapshotBundle

/// `rsdump merge`
struct MergeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "merge",
        abstract: "Merge the lock and the bundles of two branches.",
        discussion: """
            Use this when a git merge, rebase or cherry-pick stopped with conflicts. For each collection, it takes the \
            newer state that verifies, or the pinned one, and writes the lock file and the bundles. An unsigned state \
            never replaces a signed one. It does not merge dumps.yaml: git and you do. After rsdump git-setup, git \
            merges all this by itself.

            Example:
              git merge other            stops with conflicts in dumps
              rsdump merge
              git add dumps
              git commit

            Exits with 3, and writes nothing, if neither state of a collection verifies.
            """)

    @Option(
        name: .customLong("with"),
        help: ArgumentHelp("The other commit; by default, the one that git is merging.", valueName: "rev"))
    var revision: String?

    @OptionGroup var dumps: DumpsOptions

    func run() async throws {
        let directory = dumps.directory
        let (name, ancestor) = try await other(directory.path)
        let merge = try await DumpsMerge(
            in: directory.path, with: name, ancestor: ancestor,
            policy: { try $0.policy(file: directory.configurationPath) })
        // The hook runs in every merge, and usually has nothing to do.
        let isHook = revision == nil && Self.merging != nil
        if isHook, merge.choices.isEmpty { return }
        try await merge.write(into: directory, onlyChosen: isHook)
        if isHook {
            let files = ["dumps.lock.json"] + merge.choices.map { LockFile.Bundle.path(of: $0.collection) }
            try await GitRepository(containing: directory.path).stage(files)
        }
        for choice in merge.choices { Console.print(choice.text) }
        if merge.choices.isEmpty { Console.print("no collection changed on both sides") }
        let isResolved = (try? directory.configurationOrDefault()) != nil
        Console.print(
            "the lock file has \(Counted.text(merge.lock.collections.count, "collection")); next: "
                + (isResolved ? "" : "resolve the conflicts in \(directory.configurationPath), then run ")
                + "git add \(dumps.path)")
    }

    /// The commit that `git merge` names to the programs that it runs; `nil` if there are several, or if git did not
    /// run this program.
    static var merging: String? {
        let heads = ProcessInfo.processInfo.environment.keys.filter { $0.hasPrefix("GITHEAD_") }
        return heads.count == 1 ? heads.first.map { String($0.dropFirst("GITHEAD_".count)) } : nil
    }

    /// The commit that is being merged into `HEAD`, and the ancestor to use where it is not the one that git would
    /// find.
    private func other(_ directory: String) async throws -> (name: String, ancestor: String?) {
        if let revision { return (revision, nil) }
        if let head = Self.merging { return (head, nil) }
        let repository = try await GitRepository(containing: directory)
        guard let name = try await repository.existing(["MERGE_HEAD", "CHERRY_PICK_HEAD", "REBASE_HEAD"]).first else {
            throw CommandFailure(
                .usage,
                "\(directory): no git merge, rebase or cherry-pick has stopped here; name the other commit with --with "
                    + "REV")
        }
        return (name, name == "MERGE_HEAD" ? nil : "\(name)^")
    }
}

/// `rsdump merge-driver`, which git runs for each file in conflict. Git shows its standard error.
struct MergeDriver: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "merge-driver", abstract: "Merge one file for git.", shouldDisplay: false)

    @Argument(help: "The file with our version, which gets the result.")
    var file: String

    @Argument(help: "The path in the repository.")
    var path: String

    func run() async throws {
        let parts = path.split(separator: "/").map(String.init)
        let isLock = parts.last == "dumps.lock.json"
        let folder = parts.dropLast(isLock ? 1 : 2).joined(separator: "/")
        let directory = DumpsDirectory(folder.isEmpty ? "." : folder)
        // A rebase does not name what it merges. It stops, and rsdump merge completes it.
        guard let head = MergeCommand.merging else {
            throw CommandFailure(.someFailed, "\(path): git does not say what it merges; run: rsdump merge")
        }
        let merge = try await DumpsMerge(
            in: directory.path, with: head,
            policy: { try $0.policy(file: directory.configurationPath) })
        if isLock {
            for choice in merge.choices { Console.error("note: \(choice.text)") }
            return try FileStore.replace(file, with: Bytes(merge.lock.text), limit: Limits.lockBytes)
        }
        guard parts.count >= 2, let name = parts.last, name.hasSuffix(".zip"),
            let id = try? CollectionID(bucket: parts[parts.count - 2], name: String(name.dropLast(4))),
            let bytes = try await merge.bundle(id)
        else {
            throw CommandFailure(
                .someFailed, "\(path): the merged lock does not name this bundle; remove it, then run: rsdump merge")
        }
        try FileStore.replace(file, with: bytes)
    }
}

/// `rsdump git-setup`
struct GitSetup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "git-setup",
        abstract: "Let git merge and show a dumps directory.",
        discussion: """
            Writes DIR/.gitattributes, which you commit, and settings of this clone. git merge then merges the lock \
            and the bundles as rsdump merge does, and git diff, git log -p and git show print bundles as records. A \
            pre-merge-commit hook keeps the bundle of a collection that only one side has pinned. Run the command in \
            each clone: without the settings, git treats bundles as binary files.

            Example:
              rsdump git-setup
              git add dumps/.gitattributes
            """)

    @OptionGroup var dumps: DumpsOptions

    func run() async throws {
        let directory = dumps.directory
        let repository = try await GitRepository(containing: directory.path)
        guard let program = Bundle.main.executablePath else {
            throw CommandFailure(.someFailed, "the path of this rsdump cannot be found; start it by its full path")
        }
        let isNew = try directory.writeGitAttributes()
        let quoted = "'" + program.replacing("'", with: "'\\''") + "'"
        try await repository.set("merge.rsdump.name", to: "lock and bundles of Remote Settings")
        try await repository.set("merge.rsdump.driver", to: "\(quoted.replacing("%", with: "%%")) merge-driver %A %P")
        try await repository.set("diff.rsdump.textconv", to: "\(quoted) textconv")
        try await repository.set("diff.rsdump.cachetextconv", to: "true")
        try await installHook(running: quoted, repository)
        Console.print(
            "\(directory.path)/.gitattributes \(isNew ? "is written; commit it" : "has the attributes already")")
        Console.print("git now merges and shows the bundles of this clone with \(program)")
    }

    /// Writes the hook, unless another program or another repository uses the file.
    private func installHook(running program: String, _ repository: GitRepository) async throws {
        let (path, isOwn, directory) = try await repository.hook("pre-merge-commit")
        let mark = "# written by rsdump git-setup"
        let quoted = "'" + directory.replacing("'", with: "'\\''") + "'"
        let command = "[ ! -f \(quoted)/dumps.lock.json ] || \(program) merge --dumps \(quoted)"
        guard isOwn else {
            return Console.error(
                "note: \(Console.visible(path)) is in core.hooksPath, which other repositories may use; add this line to "
                    + "it: \(Console.visible(command))")
        }
        let known = try FileStore.read(path, limit: 1 << 20) ?? Bytes(utf8: "#!/bin/sh\n\(mark)\nset -e\n")
        var lines = known.array.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard lines.contains(where: { $0.elementsEqual(mark.utf8) }) else {
            return Console.error("note: \(path) belongs to another program; add this line to it: \(command)")
        }
        if lines.last?.isEmpty == true { lines.removeLast() }
        lines.removeAll { $0.suffix(quoted.utf8.count).elementsEqual(quoted.utf8) }
        lines.append(ArraySlice(command.utf8))
        try FileStore.makeDirectories(FileStore.parent(of: path))
        try FileStore.replace(path, with: Bytes(Array(lines.joined(separator: "\n".utf8)) + Array("\n".utf8)))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    }
}

/// `rsdump textconv`, which git runs for each bundle that it shows.
struct TextConversion: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "textconv", abstract: "Print a bundle's records for git.", shouldDisplay: false)

    @Argument(help: "The bundle.")
    var file: String

    func run() async throws {
        // git reads nothing further if this fails, so a file that is no bundle is shown as its problem. git's temporary
        // path is not part of it, because git stores the text.
        let name = file.split(separator: "/").last.map { "\($0)" } ?? file
        do {
            let records = try BundleReader(bytes: MappedFile(path: file).bytes, name: name).payload().records
            Console.buffered { write in
                for record in records { write(record.json.array + [UInt8(ascii: "\n")]) }
            }
        } catch {
            Console.print(Console.visible("\(error)"))
        }
    }
}

extension DumpsMerge.Choice {
    /// The choice as one line.
    fileprivate var text: String {
        guard let isTheirs, let timestamp else { return "\(collection): removed, because \(reason)" }
        return "\(collection): \(isTheirs ? "theirs" : "ours"), of \(timestamp.rfc3339), because "
            + Console.visible(reason)
    }
}
