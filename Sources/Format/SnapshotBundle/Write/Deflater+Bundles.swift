import RemoteSettingsModel

extension Deflater {
    /// One with zlib's highest level: bundles are written once and read often.
    static func forBundles(_ file: String) throws(BundleError) -> Deflater {
        guard let deflater = Deflater(level: 9) else {
            throw BundleError(.unwritable, file: file, expected: "memory for a compressor", found: "too little")
        }
        return deflater
    }

    /// Deflates contents, or leaves them as they are, by the rule of ``EntryWriter``.
    ///
    /// - Parameter content: of at most 1 GiB, if it is not stored.
    func pack(_ content: Bytes, isStored: Bool = false) -> (PackedContent, Bytes) {
        let deflated: [UInt8]? =
            if isStored {
                nil
            } else if content.count <= EntryWriter.wholeTrial {
                smaller(content)
            } else {
                smaller(content[0..<EntryWriter.prefixTrial]).map { _ in block(content, isLast: true) }
            }
        let packed = deflated.map { Bytes($0) } ?? content
        return (
            PackedContent(isStored: deflated == nil, size: content.count, crc: crc32(of: content)), packed
        )
    }
}
