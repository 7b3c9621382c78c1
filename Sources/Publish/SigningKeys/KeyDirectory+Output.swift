import ContentSigning
import RemoteSettingsModel
import SnapshotBundle

extension KeyDirectory {
    /// Checks that a command may write its output to a path. Whoever mistypes it loses no key. Does I/O.
    ///
    /// - Parameter path: `nil` if no file is to be written.
    /// - Throws: ``SigningKeyError`` if the path has the name of a private key, holds one, or is a file of a directory
    ///   of keys; `FileError` if it is not a regular file.
    package static func checkOutput(_ path: String?) throws {
        try FileStore.checkOutput(path)
        guard let path else { return }
        func refused(_ found: String) -> SigningKeyError {
            SigningKeyError(
                path, expected: "a file that is not one of a directory of keys", found: found,
                remedy: "name another file")
        }
        let directory = KeyDirectory(FileStore.parent(of: path))
        // Some file systems ignore the case of names.
        let name = path.split(separator: "/").last.map { $0.lowercased() } ?? ""
        if name.hasSuffix(".key") { throw refused("the name of a private key") }
        if try FileStore.readBeginning(path, most: 1 << 20)?.bytes.text.contains("PRIVATE KEY-----") == true {
            throw refused("a private key")
        }
        if directory.publicNames.contains(name), try directory.holdsKeys() {
            throw refused("a file of the directory of keys \(directory.path)")
        }
    }

    /// The names of the files that have no private key.
    private var publicNames: [String] {
        let paths = CertificateRole.allCases.map(certificatePath) + [successionPath, ignorePath]
        return paths.map { String($0.dropFirst(path.count + 1)) }
    }

    /// Whether private keys are, or were, in the directory.
    private func holdsKeys() throws -> Bool {
        try ignoresKeys() || FileStore.list(path)?.contains { $0.hasSuffix(".key") } == true
    }
}
