import RemoteSettingsModel
import SnapshotBundle

/// An immutable resource that a server sends: its bytes and its HTTP metadata.
///
/// It is a class, because the HTTP server caches responses by the identity of the resource.
package final class OriginResource: Sendable {
    /// The time for which caches may store a response.
    package enum Freshness: Hashable, Sendable {
        /// The response changes with the collection, so it may be stored for only this number of seconds.
        case seconds(Int)
        /// The response never changes, because its URL identifies the content.
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
        /// The gzip variant reuses the deflated bytes of the bundle.
        case wrapped([Bytes])
        /// The gzip variant is created on the first request and cached.
        case compressing
    }

    package let route: OriginRoute
    package let contentType: String
    /// The entity tag of the plain content, without quotation marks.
    package let tag: String
    package let lastModified: Timestamp?
    package let freshness: Freshness
    package let content: OriginContent
    /// Whether the server uses this same object again for the same request.
    ///
    /// If so, the HTTP server can cache the responses that it creates from the object.
    package let isKept: Bool
    /// Whether the content is a delta (RFC 9842) from an older file to the resource.
    package let isDelta: Bool
    /// The value of `Use-As-Dictionary`; `nil` if a client cannot request a later version as a delta from this one.
    package let useAsDictionary: String?
    /// Whether the content depends on the request's header `Prefer` (RFC 7240).
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

    /// Creates the resource with a delta in place of the file. A client decodes the delta to the same file, so all
    /// other properties are those of the file.
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

    /// Whether there is a gzip variant (RFC 1952). Does not compress anything.
    package var hasGzip: Bool {
        if case .none = gzipSource { return false }
        return true
    }

    /// Whether ``gzip()`` compresses the content and keeps the result in memory.
    package var compresses: Bool {
        if case .compressing = gzipSource { return true }
        return false
    }

    /// Returns the gzip variant; `nil` if it would not be smaller. If the bundle does not contain it, the first call
    /// compresses the content.
    package func gzip() -> [Bytes]? {
        switch gzipSource {
        case .none: nil
        case .wrapped(let segments): segments
        case .compressing:
            compressed.get {
                guard case .segments(let segments) = content, let packed = GzipMember.compress(segments, level: 6)
                else { return nil }
                return packed.count < content.count ? [packed] : nil
            }
        }
    }
}

/// The bytes of a resource.
package enum OriginContent: Sendable {
    /// Consecutive slices, which share a bundle's memory if possible.
    case segments([Bytes])
    /// An entry that is deflated in its bundle. It is inflated while it is being sent.
    case packed(PackedEntry)

    /// Creates the content of an attachment in a bundle, without copying or verifying it.
    ///
    /// - Returns: `nil` if the bundle does not contain it.
    /// - Throws: `Failure` if the bundle's structure is wrong.
    package init?(_ digest: SHA256Digest, of bundle: BundleReader) throws(Failure) {
        guard let entry = try bundle.packedAttachment(digest) else { return nil }
        self.init(entry)
    }

    init(_ entry: PackedEntry) {
        self = entry.isDeflated ? .packed(entry) : .segments([entry.bytes])
    }

    /// The approximate memory in bytes that ``Pieces`` uses in addition to the returned bytes.
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

    /// Returns all bytes in order, piece by piece. If the content is deflated, only one piece is in memory at a time.
    ///
    /// - Throws: `Failure` if there is not enough memory.
    package func pieces() throws(Failure) -> Pieces { try Pieces(self) }

    /// Reads the content piece by piece. It is not safe to use from several threads.
    package final class Pieces {
        private var segments: ArraySlice<Bytes> = []
        /// The rest of a slice that was longer than the requested number of bytes.
        private var rest: Bytes?
        private var unpacking: PackedEntry.Unpacking?
        private var left: Int

        init(_ content: OriginContent) throws(Failure) {
            left = content.count
            switch content {
            case .segments(let segments): self.segments = segments[...]
            case .packed(let entry): unpacking = try entry.unpacking()
            }
        }

        /// Returns the next bytes; `nil` after the last ones. Uncompressed content is returned in its slices, deflated
        /// content in pieces of at most 64 KiB.
        ///
        /// - Parameter most: the largest number of bytes to return, at least 1.
        /// - Throws: `Failure` if the deflate stream is damaged, or if its length differs from the one in the ZIP
        ///   directory.
        package func next(atMost most: Int = .max) throws(Failure) -> Bytes? {
            guard let unpacking else {
                guard let segment = rest ?? segments.popFirst() else { return nil }
                rest = segment.count > most ? segment[most..<segment.count] : nil
                return segment[0..<min(most, segment.count)]
            }
            var piece = [UInt8](repeating: 0, count: min(64 << 10, most, left + 1))
            let count = try unpacking.next(into: &piece)
            guard count <= left, count > 0 || left == 0 else {
                throw Failure(
                    .damaged, file: "a bundle",
                    found: count > left
                        ? "an entry is longer than the ZIP directory states"
                        : "an entry is shorter than the ZIP directory states")
            }
            left -= count
            return count > 0 ? Bytes(piece)[0..<count] : nil
        }
    }
}
