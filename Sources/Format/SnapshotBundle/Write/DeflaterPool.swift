import RemoteSettingsModel

/// Compressors for attachments that arrive side by side. Each is used again, because making one costs more than
/// compressing a small attachment.
package final class DeflaterPool: Sendable {
    private let idle = Mutex<[Deflater]>([])

    package init() {}

    /// Prepares contents for a bundle: deflated if that makes them smaller, else as they are.
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

    /// The contents as they lie in a bundle, by the rule of ``EntryWriter``.
    func pack(_ content: Bytes, isStored: Bool = false) -> (PackedContent, Bytes) {
        let crc = crc32(of: content)
        let isHopeless =
            isStored || content.count > EntryWriter.wholeTrial && smaller(content[0..<EntryWriter.prefixTrial]) == nil
        guard !isHopeless, let deflated = smaller(content) else {
            return (PackedContent(isStored: true, size: content.count, packedSize: content.count, crc: crc), content)
        }
        return (
            PackedContent(isStored: false, size: content.count, packedSize: deflated.count, crc: crc), Bytes(deflated)
        )
    }
}
