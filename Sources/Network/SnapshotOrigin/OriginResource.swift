import RemoteSettingsModel
import SnapshotBundle

/// Something that a server sends: its bytes, and what HTTP says about them. It never changes.
///
/// It is a class, because the HTTP server keeps its responses by the resource's identity.
package final class OriginResource: Sendable {
    /// How long caches may keep an answer.
    package enum Freshness: Hashable, Sendable {
        /// The number of seconds for which the answer may be kept, because it changes with the collection.
        case seconds(Int)
        /// The answer never changes, because its URL names the content.
        case immutable
        case none

        /// The value of `Cache-Control` (RFC 9111 §5.2.2).
        package var cacheControl: String {
            switch self {
            case .seconds(let seconds): "public, max-age=\(seconds)"
            case .immutable: "public, max-age=31536000, immutable"
            case .none: "no-store"
            }
        }
    }

    enum GzipSource: Sendable {
        case none
        /// The gzip form reuses the deflated bytes of the bundle.
        case wrapped([Bytes])
        /// The gzip form is made on the first request and kept.
        case compressing
    }

    package let route: OriginRoute
    package let contentType: String
    /// The entity tag of the plain content, without quotation marks.
    package let tag: String
    package let lastModified: Timestamp?
    package let freshness: Freshness
    package let content: OriginContent
    /// Whether the server answers the same request with this same object again.
    ///
    /// If so, it is useful to keep the responses that are made from it.
    package let isKept: Bool
    /// Whether the content is a delta of the resource to another file (RFC 9842).
    package let isDelta: Bool
    /// The value of `Use-As-Dictionary`; `nil` if a client cannot ask for a later version as a delta from this one.
    package let useAsDictionary: String?
    /// Whether the content depends on the request's `Prefer` (RFC 7240).
    package let dependsOnPreference: Bool
    private let gzipSource: GzipSource
    private let compressed = Lazily<[Bytes]?>()

    init(
        _ route: OriginRoute, type: String, tag: String, lastModified: Timestamp? = nil, freshness: Freshness,
        content: OriginContent, gzip: GzipSource = .none, isKept: Bool = true, useAsDictionary: String? = nil,
        dependsOnPreference: Bool = false
    ) {
        self.route = route
        contentType = type
        self.tag = tag
        self.lastModified = lastModified
        self.freshness = freshness
        self.content = content
        self.isKept = isKept
        isDelta = false
        self.dependsOnPreference = dependsOnPreference
        self.useAsDictionary = useAsDictionary
        gzipSource = gzip
    }

    /// Makes the answer with a delta in place of the file itself. A client decodes it to the same file, so all else
    /// that is said about the file stays true.
    init(_ file: OriginResource, asDelta delta: Bytes, tag: String) {
        route = file.route
        contentType = file.contentType
        self.tag = tag
        lastModified = file.lastModified
        freshness = file.freshness
        content = .segments([delta])
        isKept = false
        isDelta = true
        dependsOnPreference = false
        useAsDictionary = file.useAsDictionary
        gzipSource = .none
    }

    /// Whether there is a gzip form (RFC 1952). Does not compress anything.
    package var hasGzip: Bool {
        if case .none = gzipSource { return false }
        return true
    }

    /// Whether ``gzip()`` compresses the content and keeps the result in memory.
    package var compresses: Bool {
        if case .compressing = gzipSource { return true }
        return false
    }

    /// The gzip form; `nil` if it would not be smaller. If the bundle does not have it, the first call compresses the
    /// content.
    package func gzip() -> [Bytes]? {
        switch gzipSource {
        case .none: nil
        case .wrapped(let segments): segments
        case .compressing:
            compressed.get {
                guard case .segments(let segments) = content, let packed = GzipMember.compress(segments, level: 6)
                else {
                    return nil
                }
                return packed.count < content.count ? [packed] : nil
            }
        }
    }
}

/// The bytes of a resource.
package enum OriginContent: Sendable {
    /// Consecutive slices, in place in a bundle if possible.
    case segments([Bytes])
    /// An entry that is deflated in its bundle. It is inflated while it is sent.
    case packed(PackedEntry)

    /// Reads an attachment of a bundle in place. Nothing is verified.
    ///
    /// - Returns: `nil` if the bundle does not have it.
    /// - Throws: `BundleError` if the bundle's structure is wrong.
    package init?(_ digest: SHA256Digest, of bundle: BundleReader) throws(BundleError) {
        guard let entry = try bundle.packedAttachment(digest) else { return nil }
        self.init(entry)
    }

    init(_ entry: PackedEntry) {
        self = entry.isDeflated ? .packed(entry) : .segments([entry.bytes])
    }

    /// Roughly the memory that ``Pieces`` uses in addition to what it returns, in bytes.
    package var unpackingBytes: Int {
        if case .packed = self { Inflater.memoryBytes } else { 0 }
    }

    /// The number of uncompressed bytes.
    package var count: Int {
        switch self {
        case .segments(let segments): segments.reduce(0) { $0 + $1.count }
        case .packed(let entry): entry.size
        }
    }

    /// All bytes in order. If the content is deflated, only one piece is in memory at a time.
    ///
    /// - Throws: `BundleError` if there is not enough memory.
    package func pieces() throws(BundleError) -> Pieces { try Pieces(self) }

    /// Returns the content piece by piece. Threads must not share it.
    package final class Pieces {
        private var segments: ArraySlice<Bytes> = []
        /// The rest of a slice that was too long.
        private var rest: Bytes?
        private var unpacking: PackedEntry.Unpacking?
        private var left: Int

        init(_ content: OriginContent) throws(BundleError) {
            left = content.count
            switch content {
            case .segments(let segments): self.segments = segments[...]
            case .packed(let entry): unpacking = try entry.unpacking()
            }
        }

        /// The next bytes; `nil` at the end. Stored content comes in its slices, deflated content in pieces of at most
        /// 64 KiB.
        ///
        /// - Parameter most: the largest number of bytes to return, at least 1.
        /// - Throws: `BundleError` if the deflate stream is damaged, or if its length is not the one in its directory
        ///   entry.
        package func next(atMost most: Int = .max) throws(BundleError) -> Bytes? {
            guard let unpacking else {
                guard let segment = rest ?? segments.popFirst() else { return nil }
                rest = segment.count > most ? segment[most..<segment.count] : nil
                return segment[0..<min(most, segment.count)]
            }
            var piece = [UInt8](repeating: 0, count: min(64 << 10, most, left + 1))
            let count = try unpacking.next(into: &piece)
            guard count <= left, count > 0 || left == 0 else {
                throw BundleError(
                    .damaged, file: "a bundle",
                    found: count > left
                        ? "an entry is longer than the directory states"
                        : "an entry is shorter than the directory states")
            }
            left -= count
            return count > 0 ? Bytes(piece)[0..<count] : nil
        }
    }
}
