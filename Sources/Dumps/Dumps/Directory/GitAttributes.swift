import RemoteSettingsModel
import SnapshotBundle

extension DumpsDirectory {
    private static let gitAttributes = [
        "dumps.lock.json -text merge=rsdump",
        "*.zip -text merge=rsdump diff=rsdump",
    ]

    /// Adds lines to the directory's `.gitattributes` that configure how git merges and displays its files. Other lines
    /// are kept. Does I/O.
    ///
    /// - Returns: whether a line was missing.
    /// - Throws: `BundleError`.
    package func writeGitAttributes() throws(BundleError) -> Bool {
        let file = "\(path)/.gitattributes"
        let present = try FileStore.read(file, limit: Self.configurationBytes) ?? Bytes()
        let lines = present.lines
        let missing = Self.gitAttributes.filter { !lines.contains(Bytes(utf8: $0)) }
        guard !missing.isEmpty else { return false }
        try FileStore.replace(
            file, below: path, with: present.appending(lines: missing), limit: Self.configurationBytes)
        return true
    }
}
