import RemoteSettingsModel
import SnapshotBundle

/// Writes entries, each deflated where that makes it smaller.
///
/// The rule depends on the bytes alone. An entry of at most 4 MiB is deflated where zlib's fastest level makes its first
/// 16 KiB smaller by an eighth, which is soon found out; else the whole entry is tried. A larger one is stored where its
/// first 1 MiB does not become smaller, and tried as a whole otherwise. What becomes smaller in the trial, by one byte
/// or more, is deflated; every other entry is stored.
struct EntryWriter {
    let archive: ZIPArchive
    let deflater: Deflater
    /// Of zlib's fastest level.
    let sampler: Deflater

    private static let sample = 16 << 10
    private static let wholeTrial = 4 << 20
    private static let prefixTrial = 1 << 20

    mutating func write(_ source: EntrySource, isStored: Bool = false) throws(BundleError) {
        if source.size <= Self.wholeTrial {
            let bytes = try source.load()
            try archive.begin(source.name, size: source.size, isStored: isStored || !shrinks(bytes))
            try bytes.withSpan { (span) throws(BundleError) in try archive.append(span, to: source.name) }
        } else {
            let stored = isStored ? true : try !shrinks(source)
            try archive.begin(source.name, size: source.size, isStored: stored)
            try source.read { (piece) throws(BundleError) in try archive.append(piece, to: source.name) }
        }
        try archive.endEntry(source.name)
    }

    private func shrinks(_ bytes: Bytes) -> Bool {
        let sample = bytes[0..<min(bytes.count, Self.sample)]
        return sampler.shrinksByAnEighth(sample) || deflater.shrinks(bytes)
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
