import ContentSigning
import RemoteSettingsModel
import SnapshotBundle

extension KeyDirectory {
    /// Checks that a command may write its output to a path, so that a mistyped path cannot overwrite a key. Does I/O.
    ///
    /// - Parameter path: the path; `nil` if no file is written.
    /// - Throws: ``Failure`` if the path has the name of a private key, contains one, or is a file of a key
    ///   directory; `Failure` if it is not a regular file.
    package static func checkOutput(_ path: String?) throws {
        try FileStore.checkOutput(path)
        guard let path else { return }
        func refused(_ found: String) -> Failure {
            Failure(file: path, found: found, remedy: "choose a different output file")
        }
        let directory = KeyDirectory(FileStore.parent(of: path))
        // Compare in lower case, because some file systems are case-insensitive.
        let name = path.split(separator: "/").last.map { $0.lowercased() } ?? ""
        if name.hasSuffix(".key") { throw refused("names that end with .key are reserved for private keys") }
        if try FileStore.readBeginning(path, most: 1 << 20)?.bytes.text.contains("PRIVATE KEY-----") == true {
            throw refused("the file is a private key, and would be overwritten")
        }
        if directory.publicNames.contains(name), try directory.holdsKeys() {
            throw refused("the file belongs to the key directory \(directory.path)")
        }
    }

    /// The names of the files without private keys.
    private var publicNames: [String] {
        let paths = CertificateRole.allCases.map(certificatePath) + [ignorePath]
        return paths.map { String($0.dropFirst(path.count + 1)) }
    }

    /// Returns whether the directory contains private keys, or contained some earlier.
    private func holdsKeys() throws -> Bool {
        try ignoresKeys() || FileStore.list(path, isLossy: true)?.contains { $0.hasSuffix(".key") } == true
    }
}
