import RemoteSettingsModel

extension Deflater {
    /// Creates a deflater for bundles. The default is zlib's highest level, because a bundle is written once and read
    /// often.
    static func forBundles(_ file: String, level: Int32 = 9) throws(Failure) -> Deflater {
        guard let deflater = Deflater(level: level) else {
            throw Failure(.storage, file: file, found: "not enough memory for compression")
        }
        return deflater
    }

    /// Deflates contents of at most 1 GiB if that makes them smaller. All other contents are stored.
    func pack(_ content: Bytes) -> (PackedContent, Bytes) {
        guard let deflated = smaller(content) else { return (PackedContent(stored: content), content) }
        return (PackedContent(isStored: false, size: content.count, crc: crc32(of: content)), Bytes(deflated))
    }
}
