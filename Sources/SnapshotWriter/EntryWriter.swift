import RemoteSettingsModel
import SnapshotBundle

/// Writes entries, each deflated where that makes it smaller.
///
/// The rule depends on the bytes alone. Up to 4 MiB, the whole entry is tried. Above, the entry is stored where its
/// first 1 MiB does not become smaller, and tried as a whole otherwise. An entry that becomes smaller, by one byte or
/// more, is deflated; every other is stored.
struct EntryWriter {
    let archive: ZIPArchive
    let deflater: Deflater

    private static let wholeTrial = 4 << 20
    private static let prefixTrial = 1 << 20

    mutating func write(_ source: EntrySource, isStored: Bool = false) throws(BundleError) {
        if source.size <= Self.wholeTrial {
            let bytes = try source.load()
            try archive.begin(source.name, size: source.size, isStored: isStored || !deflater.shrinks(bytes))
            try bytes.withSpan { (span) throws(BundleError) in try archive.append(span, to: source.name) }
        } else {
            let stored = isStored ? true : try !shrinks(source)
            try archive.begin(source.name, size: source.size, isStored: stored)
            try source.read { (piece) throws(BundleError) in try archive.append(piece, to: source.name) }
        }
        try archive.endEntry(source.name)
    }

    private func shrinks(_ source: EntrySource) throws(BundleError) -> Bool {
        guard deflater.shrinks(try source.prefix(Self.prefixTrial)) else { return false }
        deflater.reset()
        var (consumed, produced) = (0, 0)
        try source.read { (piece) throws(BundleError) in
            consumed += piece.count
            produced += deflater.deflate(piece, isLast: consumed == source.size)
        }
        return produced < source.size
    }
}
