import RemoteSettingsModel

extension FileStore {
    /// Hashes a whole file with little memory.
    ///
    /// - Returns: a hasher that has hashed the file and can hash more bytes, and the file's size in bytes.
    package static func hash(_ path: String) throws(Failure) -> (hasher: ContentHasher, size: Int) {
        var hasher = ContentHasher()
        var size = 0
        try readPieces(path) { (piece) throws(Failure) in
            hasher.update(piece)
            size += piece.count
        }
        return (hasher, size)
    }

    /// Returns the SHA-256 of a file, and its size in bytes.
    package static func digestAndSize(of path: String) throws(Failure) -> (digest: SHA256Digest, size: Int) {
        let (hasher, size) = try hash(path)
        return (hasher.finish(), size)
    }

    /// Returns the SHA-256 of a file.
    package static func digest(of path: String) throws(Failure) -> SHA256Digest {
        try hash(path).hasher.finish()
    }
}
