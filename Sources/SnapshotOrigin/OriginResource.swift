import Deflate
import RemoteSettingsModel
import SnapshotBundle
import Synchronization

/// Something that an origin serves: a representation's bytes, and what HTTP says of them.
///
/// An object, so that who serves it can keep what it made of it under its identity. It never changes.
public final class OriginResource: Sendable {
    /// The bytes of a representation.
    public enum Content: Sendable {
        /// One behind the other; slices of what a bundle has in place where possible.
        case segments([Bytes])
        /// Bytes that a bundle holds deflated: inflated while they are sent.
        case packed(PackedContent)

        /// Bytes.
        public var count: Int {
            switch self {
            case .segments(let segments): segments.reduce(0) { $0 + $1.count }
            case .packed(let packed): packed.count
            }
        }
    }

    /// How long an answer may be kept by caches.
    public enum Freshness: Hashable, Sendable {
        /// It changes when the collection does.
        case seconds(Int)
        /// Its URL names its content.
        case immutable
        case none
    }

    public let route: OriginRoute
    public let contentType: String
    /// Names the identity representation; without quotes.
    public let tag: String
    public let lastModified: Timestamp?
    public let freshness: Freshness
    public let content: Content
    /// What who serves it made of it, to be made once: its lifetime is this object's.
    public let prepared = Mutex<(any Sendable)?>(nil)
    private let gzipSource: GzipSource
    private let compressed = Lazily<[Bytes]?>()

    enum GzipSource: Sendable {
        case none
        /// What the bundle has deflated already.
        case wrapped([Bytes])
        /// Compressed when it is first asked for, and kept.
        case compressing
    }

    init(
        _ route: OriginRoute, type: String, tag: String, lastModified: Timestamp? = nil, freshness: Freshness,
        content: Content, gzip: GzipSource = .none
    ) {
        self.route = route
        contentType = type
        self.tag = tag
        self.lastModified = lastModified
        self.freshness = freshness
        self.content = content
        gzipSource = gzip
    }

    /// Whether there is a gzip representation (RFC 1952); finding out costs nothing.
    public var hasGzip: Bool {
        if case .none = gzipSource { return false }
        return true
    }

    /// The gzip representation; made at the first call where the bundle has none. `nil` where it would not be smaller.
    public func gzip() -> [Bytes]? {
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

extension OriginResource.Content {
    /// An attachment of a bundle, in place; nothing is checked.
    ///
    /// - Returns: `nil` where the bundle has no such file.
    /// - Throws: `BundleError` where the bundle's structure is wrong.
    public init?(_ digest: SHA256Digest, of bundle: BundleReader) throws(BundleError) {
        guard let packed = try bundle.packedAttachment(digest) else { return nil }
        self = packed.isDeflated ? .packed(PackedContent(entry: packed)) : .segments([packed.bytes])
    }
}

/// Bytes that lie deflated in a bundle.
public struct PackedContent: Sendable {
    let entry: PackedEntry

    /// Bytes, uncompressed.
    public var count: Int { entry.size }

    /// A reader from the first byte on; one for each answer.
    ///
    /// - Throws: `BundleError` where there is too little memory.
    public func reader() throws(BundleError) -> PackedContentReader {
        PackedContentReader(unpacking: try entry.unpacking())
    }
}

/// Inflates step by step. Not shared between threads.
public final class PackedContentReader {
    private let unpacking: PackedEntry.Unpacking

    init(unpacking: PackedEntry.Unpacking) {
        self.unpacking = unpacking
    }

    /// Fills `piece` from its start with the bytes that come next.
    ///
    /// - Returns: how many; 0 at the end.
    /// - Throws: `BundleError` where the stream is damaged.
    public func next(into piece: inout [UInt8]) throws(BundleError) -> Int { try unpacking.next(into: &piece) }

    /// Everything, where it is exactly `count` bytes; `nil` where it is more or fewer.
    ///
    /// - Throws: `BundleError` where the stream is damaged.
    public func whole(_ count: Int) throws(BundleError) -> Bytes? {
        var bytes: [UInt8] = []
        // One byte more, to see the end.
        var piece = [UInt8](repeating: 0, count: count + 1)
        while true {
            let read = try next(into: &piece)
            guard read > 0 else { return bytes.count == count ? Bytes(bytes) : nil }
            bytes += piece[..<read]
            guard bytes.count <= count else { return nil }
        }
    }
}

/// What an answer is about: a bounded set, for counting.
public enum OriginRoute: String, Hashable, Sendable, CaseIterable {
    case root
    case monitor
    case changeset
    case delta
    case chain
    case attachment
    case attachmentsZip = "attachments-zip"
    case bundle
    case health
    case version
    case unknown
}
