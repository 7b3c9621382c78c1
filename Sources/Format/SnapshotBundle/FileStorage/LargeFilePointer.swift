import RemoteSettingsModel

/// The text that Git LFS commits in place of a file. The work tree contains it too if Git LFS is not installed there.
package struct LargeFilePointer: Hashable, Sendable {
    /// The hash of the file.
    package let sha256: SHA256Digest
    /// The size of the file in bytes.
    package let size: Int

    /// The maximum size of a pointer in bytes, according to the specification of Git LFS.
    package static let mostBytes = 1024
    private static let firstLine = "version https://git-lfs.github.com/spec/v1\n"

    /// Parses a pointer; `nil` if the bytes are anything else.
    package init?(_ bytes: Bytes) {
        guard Self.isAtStart(of: bytes), bytes.count <= Self.mostBytes else { return nil }
        var (hash, count): (SHA256Digest?, Int?)
        for line in bytes.text.split(separator: "\n") {
            if line.hasPrefix("oid sha256:") { hash = SHA256Digest(hex: String(line.dropFirst(11))) }
            if line.hasPrefix("size ") { count = Int(line.dropFirst(5)) }
        }
        guard let hash, let count, count >= 0 else { return nil }
        (sha256, size) = (hash, count)
    }

    /// Returns whether the bytes begin like a pointer.
    package static func isAtStart(of bytes: Bytes) -> Bool { bytes.starts(with: firstLine.utf8) }

    /// Returns whether the file at a path is a pointer. Does I/O.
    package static func isAt(_ path: String) throws(Failure) -> Bool {
        guard let size = try FileStore.size(path), size <= mostBytes else { return false }
        return try FileStore.read(path, limit: mostBytes).map { isAtStart(of: $0) } ?? false
    }

    /// The description of a pointer in messages, after the word "found".
    package static let name = "a Git LFS pointer"
    /// The advice for a pointer in a work tree.
    package static let remedy = "install git-lfs, then run: git lfs install && git lfs pull"

    /// Refuses a pointer in place of a file.
    ///
    /// - Throws: ``Failure`` with the code `damaged` if the bytes begin like a pointer.
    static func refuse(_ bytes: Bytes, file: String, expected: String) throws(Failure) {
        guard isAtStart(of: bytes) else { return }
        throw Failure(.damaged, file: file, expected: expected, found: name, remedy: remedy, cause: .largeFilePointer)
    }
}
