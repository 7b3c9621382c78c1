import ContentSigning
import RemoteSettingsModel
import SnapshotBundle

extension KeyDirectory {
    /// Checks that a command may write its output to a path, so that a mistyped path destroys no key. Does I/O.
    ///
    /// - Parameter path: `nil` if no file is to be written.
    /// - Throws: ``SigningKeyError`` if the path has the name of a private key, holds one, or is a file of a directory
    ///   of keys; `BundleError` if it is not a regular file.
    package static func checkOutput(_ path: String?) throws {
        try FileStore.checkOutput(path)
        guard let path else { return }
        func refused(_ found: String) -> SigningKeyError {
            SigningKeyError(
                path, found: found, remedy: "choose a different output file")
        }
        let directory = KeyDirectory(FileStore.parent(of: path))
        // Some file systems ignore the case of names.
        let name = path.split(separator: "/").last.map { $0.lowercased() } ?? ""
        if name.hasSuffix(".key") { throw refused("names that end with .key are reserved for private keys") }
        if try FileStore.readBeginning(path, most: 1 << 20)?.bytes.text.contains("PRIVATE KEY-----") == true {
            throw refused("the file is a private key, and would be overwritten")
        }
        if directory.publicNames.contains(name), try directory.holdsKeys() {
            throw refused("the file belongs to the key directory \(directory.path)")
        }
    }

    /// The names of the files that have no private key.
    private var publicNames: [String] {
        let paths = CertificateRole.allCases.map(certificatePath) + [ignorePath]
        return paths.map { String($0.dropFirst(path.count + 1)) }
    }

    /// Whether the directory has, or had, private keys.
    private func holdsKeys() throws -> Bool {
        try ignoresKeys() || FileStore.list(path)?.contains { $0.hasSuffix(".key") } == true
    }
}
