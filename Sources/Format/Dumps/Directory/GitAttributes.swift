import RemoteSettingsModel
import SnapshotBundle

extension DumpsDirectory {
    private static let gitAttributes = [
        "dumps.lock.json -text merge=rsdump",
        "*.zip -text merge=rsdump diff=rsdump",
    ]

    /// Adds lines to the directory's `.gitattributes` that say how git merges and shows its files. Other lines stay.
    /// Does I/O.
    ///
    /// - Returns: whether a line was missing.
    /// - Throws: `FileError`.
    package func writeGitAttributes() throws(FileError) -> Bool {
        let file = "\(path)/.gitattributes"
        let text = try FileStore.read(file, limit: Self.configurationBytes)?.text ?? ""
        let lines = text.split(separator: "\n").map { String($0) }
        let missing = Self.gitAttributes.filter { !lines.contains($0) }
        guard !missing.isEmpty else { return false }
        let separator = text.isEmpty || text.hasSuffix("\n") ? "" : "\n"
        try FileStore.replace(
            file, below: path, with: Bytes(utf8: text + separator + missing.joined(separator: "\n") + "\n"),
            limit: Self.configurationBytes)
        return true
    }
}
