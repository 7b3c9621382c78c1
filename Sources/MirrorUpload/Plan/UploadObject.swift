import RemoteSettingsModel
import SnapshotBundle

/// An object as the store should have it.
struct UploadObject: Hashable, Sendable {
    /// When an object is written, in this order.
    enum Phase: Int, Comparable, Sendable {
        /// Chains and attachments, under names that no reader knows yet.
        case content
        /// Changesets under names that contain their state. They name chains, which are written before them.
        case state
        /// Documents under fixed names, for readers whose URL names no state.
        case current
        /// The root documents.
        case root
        /// The list of collections, which makes a new state visible.
        case monitor

        static func < (left: Phase, right: Phase) -> Bool { left.rawValue < right.rawValue }
    }

    /// The key, relative to the place's prefix.
    let key: String
    /// The file's path.
    let file: String
    let headers: ObjectHeaders
    /// The size in bytes.
    let size: Int
    /// The SHA-256 in hexadecimal.
    let sha256: String
    let phase: Phase

    /// A value that stands for the content and for what the store says about it.
    var identity: String {
        let parts = [sha256, headers.contentType, headers.cacheControl, headers.contentEncoding ?? ""]
        return String(SHA256Digest(hashing: Bytes(utf8: parts.joined(separator: "\n"))).hex.prefix(32))
    }
}
