import RemoteSettingsModel

/// Compressors for attachments that arrive side by side. Each is used again, because making one costs more than
/// compressing a small attachment.
package final class DeflaterPool: Sendable {
    private let idle = Mutex<[Deflater]>([])

    package init() {}

    /// Prepares contents for a bundle: deflated or as they are, by the rule of ``EntryWriter``.
    ///
    /// - Parameters:
    ///   - content: of at most 1 GiB.
    ///   - file: where the contents go, for error messages.
    /// - Throws: ``BundleError`` if there is too little memory.
    package func pack(_ content: Bytes, for file: String) throws(BundleError) -> (PackedContent, Bytes) {
        let deflater: Deflater
        if let known = idle.withLock({ $0.popLast() }) { deflater = known } else { deflater = try .forBundles(file) }
        defer { idle.withLock { $0.append(deflater) } }
        return deflater.pack(content)
    }
}

extension Deflater {
    /// One with zlib's highest level: bundles are written once and read often.
    static func forBundles(_ file: String) throws(BundleError) -> Deflater {
        guard let deflater = Deflater(level: 9) else {
            throw BundleError(.unwritable, file: file, expected: "memory for a compressor", found: "too little")
        }
        return deflater
    }

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
            PackedContent(
                isStored: deflated == nil, size: content.count, packedSize: packed.count, crc: crc32(of: content)),
            packed
        )
    }
}
