import RemoteSettingsModel

/// Writes entries, compressing each one if that makes it smaller.
///
/// The rule depends on the bytes alone. An entry of at most 4 MiB is deflated if that makes it smaller by one byte or
/// more, else stored. Of a larger one, the first 1 MiB decides. A larger payload is deflated in blocks
/// (``PayloadBlocks``).
struct EntryWriter {
    let archive: ZIPArchive
    let deflater: Deflater

    static let wholeTrial = 4 << 20
    static let prefixTrial = 1 << 20

    /// Writes bytes that are in memory, and whose hash nobody states: at most 4 MiB, or any number as they are.
    func write(_ name: String, _ bytes: Bytes, isStored: Bool = false) throws(BundleError) {
        let (content, packed) = deflater.pack(bytes, isStored: isStored)
        try write(name, content: content, bytes: packed)
    }

    /// Writes an attachment.
    func write(_ source: EntrySource) throws(BundleError) {
        if source.size <= Self.wholeTrial {
            try write(source.name, try source.load())
        } else {
            try stream(source, isStored: deflater.smaller(source.prefix(Self.prefixTrial)) == nil)
        }
    }

    /// Writes an entry that was packed beforehand by the same rule.
    func write(_ name: String, content: PackedContent, bytes: Bytes) throws(BundleError) {
        try archive.begin(name, size: content.size, isStored: content.isStored)
        try bytes.withSpan { (span) throws(BundleError) in try archive.append(span) }
        try archive.endEntry(crc: content.crc)
    }

    /// Writes `records.json` of a payload that is larger than ``wholeTrial``.
    ///
    /// - Parameters:
    ///   - old: see ``PayloadBlocks/write(keeping:file:_:)``.
    ///   - file: the bundle that is written, for error messages.
    func write(_ payload: Payload, keeping old: BundleReader?, file: String) throws(BundleError) {
        let (name, bytes) = (BundleFormat.records, payload.bytes)
        guard deflater.smaller(bytes[0..<Self.prefixTrial]) != nil else {
            return try write(name, bytes, isStored: true)
        }
        try archive.begin(name, size: bytes.count, isStored: false)
        let crc = try PayloadBlocks(payload).write(keeping: old, file: file) { (block) throws(BundleError) in
            try archive.append(block)
        }
        try archive.endEntry(crc: crc)
    }

    private func stream(_ source: EntrySource, isStored: Bool) throws(BundleError) {
        try archive.begin(source.name, size: source.size, isStored: isStored)
        deflater.reset()
        var crc: UInt32 = 0
        try source.read { (piece) throws(BundleError) in
            crc = crc32(of: piece, continuing: crc)
            guard !isStored else { return try archive.append(piece) }
            try deflater.deflate(piece) { (output) throws(BundleError) in try archive.append(output) }
        }
        if !isStored {
            try deflater.finish { (output) throws(BundleError) in try archive.append(output) }
        }
        try archive.endEntry(crc: crc)
    }
}
