import RemoteSettingsModel

/// Writes entries. Each one is compressed if that makes it smaller.
///
/// The decision depends only on the bytes. An entry of at most 4 MiB is deflated if that saves at least one byte;
/// otherwise it is stored. For a larger entry, the decision depends on its first 1 MiB. A payload is deflated in blocks
/// (``PayloadBlocks``).
struct EntryWriter {
    let archive: ZIPArchive
    /// The compressor; `nil` if all entries are stored.
    let deflater: Deflater?

    static let wholeTrial = 4 << 20
    static let prefixTrial = 1 << 20

    /// Writes bytes from memory without checking their hash. If they may be compressed, the maximum is 4 MiB.
    func write(_ name: String, _ bytes: Bytes, isStored: Bool = false) throws(Failure) {
        let (content, packed) = (isStored ? nil : deflater)?.pack(bytes) ?? (PackedContent(stored: bytes), bytes)
        try write(name, content: content, bytes: packed)
    }

    /// Writes an attachment.
    func write(_ source: EntrySource) throws(Failure) {
        if source.size <= Self.wholeTrial {
            try write(source.name, try source.load())
        } else {
            let prefix = try source.prefix(Self.prefixTrial)
            try stream(source, with: deflater.flatMap { $0.smaller(prefix) == nil ? nil : $0 })
        }
    }

    /// Writes an entry that was already packed by the same rules.
    func write(_ name: String, content: PackedContent, bytes: Bytes) throws(Failure) {
        try archive.begin(name, size: content.size, isStored: content.isStored)
        try bytes.withSpan { (span) throws(Failure) in try archive.append(span) }
        try archive.endEntry(crc: content.crc)
    }

    /// Writes `records.json`. A payload larger than ``wholeTrial`` is written block by block.
    ///
    /// - Parameter file: the name of the bundle that is being written, for error messages.
    func write(_ payload: Payload, file: String) throws(Failure) {
        let (name, bytes) = (BundleFormat.records, payload.bytes)
        if let packed = try PackedRecords(payload) {
            return try write(name, content: packed.content, bytes: packed.bytes)
        }
        guard deflater?.smaller(bytes[0..<Self.prefixTrial]) != nil else {
            return try write(name, bytes, isStored: true)
        }
        try archive.begin(name, size: bytes.count, isStored: false)
        let blocks = try PayloadBlocks(payload, file: file)
        let crc = try blocks.write(file: file) { (block) throws(Failure) in
            try archive.append(block)
        }
        try archive.endEntry(crc: crc)
    }

    /// Writes an entry piece by piece.
    ///
    /// - Parameter deflater: the compressor; `nil` to store the contents.
    private func stream(_ source: EntrySource, with deflater: Deflater?) throws(Failure) {
        try archive.begin(source.name, size: source.size, isStored: deflater == nil)
        deflater?.reset()
        var crc: UInt32 = 0
        try source.read { (piece) throws(Failure) in
            crc = crc32(of: piece, continuing: crc)
            guard let deflater else { return try archive.append(piece) }
            try deflater.deflate(piece) { (output) throws(Failure) in try archive.append(output) }
        }
        try deflater?.finish { (output) throws(Failure) in try archive.append(output) }
        try archive.endEntry(crc: crc)
    }
}
