import Deflate
import RemoteSettingsModel

/// Writes entries, compressing each one if that makes it smaller.
///
/// The rule depends on the bytes alone. An entry of at most 4 MiB is deflated where that makes it smaller by one byte or
/// more, else stored. A larger one is stored where its first 1 MiB does not become smaller, and tried as a whole
/// otherwise.
struct EntryWriter {
    let archive: ZIPArchive
    let deflater: Deflater

    static let wholeTrial = 4 << 20
    static let prefixTrial = 1 << 20

    func write(_ source: EntrySource, isStored: Bool = false) throws(BundleError) {
        if case .packed(let attachment) = source.source {
            try source.check(size: attachment.content.size)
            let range = attachment.offset..<attachment.offset.saturatingAdding(attachment.content.packedSize)
            try archive.begin(source.name, size: source.size, isStored: attachment.content.isStored)
            try attachment.file.read(range) { (piece) throws(BundleError) in
                try archive.append(piece)
            }
            try archive.endEntry(crc: attachment.content.crc)
        } else if source.size <= Self.wholeTrial {
            let (content, bytes) = deflater.pack(try source.load(), isStored: isStored)
            try write(source.name, content: content, bytes: bytes)
        } else {
            try stream(source, isStored: isStored ? true : try !shrinks(source))
        }
    }

    /// Writes an entry that was packed beforehand by the same rule.
    func write(_ name: String, content: PackedContent, bytes: Bytes) throws(BundleError) {
        try archive.begin(name, size: content.size, isStored: content.isStored)
        try bytes.withSpan { (span) throws(BundleError) in try archive.append(span) }
        try archive.endEntry(crc: content.crc)
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

    private func shrinks(_ source: EntrySource) throws(BundleError) -> Bool {
        guard deflater.smaller(try source.prefix(Self.prefixTrial)) != nil else { return false }
        deflater.reset()
        var produced = 0
        try source.read { (piece) throws(BundleError) in
            deflater.deflate(piece) { produced += $0.count }
        }
        deflater.finish { produced += $0.count }
        return produced < source.size
    }
}
