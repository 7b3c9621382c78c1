import RemoteSettingsModel
import SnapshotBundle

/// The setup of a clone that allows git to merge and display bundles: its settings, and a hook.
package struct GitSetup {
    private static let mark = "# written by rsdump merge --setup"

    private let repository: GitRepository
    /// The shell command that starts rsdump.
    private let program: String

    /// Creates a setup.
    ///
    /// - Parameter program: the path of the rsdump executable for git to run.
    package init(in repository: GitRepository, running program: String) {
        self.repository = repository
        self.program = Self.quoted(program)
    }

    /// Writes the settings and the hook. Does I/O.
    ///
    /// - Returns: instructions for the user, if the hook's file is used by another program or repository and must be
    ///   edited by hand; otherwise `nil`.
    /// - Throws: ``Failure``.
    package func install() async throws -> String? {
        try await repository.set("merge.rsdump.name", to: "Remote Settings lock file and bundles")
        try await repository.set(
            "merge.rsdump.driver", to: "\(program.replacing("%", with: "%%")) merge --driver %A %P")
        // If the branches have several ancestors, git merges these first, and must not take the newer state for the ancestor.
        try await repository.set("merge.rsdump.recursive", to: "binary")
        try await repository.set("diff.rsdump.textconv", to: "\(program) show --textconv --")
        try await repository.set("diff.rsdump.cachetextconv", to: "true")
        return try await installHook()
    }

    private func installHook() async throws -> String? {
        let (path, isOwn, directory) = try await repository.hook("pre-merge-commit")
        let quoted = Self.quoted(directory)
        let command = "[ ! -f \(quoted)/dumps.lock.json ] || \(program) merge --dumps \(quoted)"
        guard isOwn else {
            return "\(VisibleText.escape(path)) is in core.hooksPath, which other repositories may use; add this line "
                + "to the file: \(VisibleText.escape(command))"
        }
        let known = try FileStore.read(path, limit: 1 << 20) ?? Bytes(utf8: "#!/bin/sh\n\(Self.mark)\n")
        var lines = known.array.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard lines.contains(where: { $0.elementsEqual(Self.mark.utf8) }) else {
            return "\(path) belongs to another program; add this line to the file: \(command)"
        }
        // Each directory is merged before the hook fails, because git does not run it again.
        let (end, last) = (" \(quoted) || failed=1", #"[ -z "$failed" ]"#)
        lines.removeAll { line in
            line.isEmpty || [end, last].contains { line.suffix($0.utf8.count).elementsEqual($0.utf8) }
        }
        lines += ["\(command) || failed=1", last].map { ArraySlice($0.utf8) }
        try FileStore.makeDirectories(FileStore.parent(of: path))
        try FileStore.replace(path, with: Bytes(Array(lines.joined(separator: "\n".utf8)) + Array("\n".utf8)))
        guard unsafe chmod(path, 0o755) == 0 else { throw Failure("make executable", path) }
        return nil
    }

    /// Returns a string quoted for a shell.
    package static func quoted(_ text: String) -> String { "'" + text.replacing("'", with: "'\\''") + "'" }
}
