import RemoteSettingsModel
import SnapshotBundle

/// An object as it is to be in the store.
struct UploadObject: Hashable, Sendable {
    /// When an object is written, in this order.
    enum Phase: Int, Comparable, Sendable {
        /// Chains and attachments, under names that no reader knows yet.
        case content
        /// Changesets under names that have their state. They name chains, which are there before them.
        case state
        /// Under a name that readers know, for those that name no state.
        case current
        /// The root documents.
        case root
        /// The list of collections: what makes a new state visible.
        case monitor

        static func < (left: Phase, right: Phase) -> Bool { left.rawValue < right.rawValue }
    }

    /// Below the place's prefix.
    let key: String
    /// The file's path.
    let file: String
    let headers: ObjectHeaders
    /// Bytes.
    let size: Int
    /// In hexadecimal.
    let sha256: String
    let phase: Phase

    /// What the object is made of: its content, and what the store says of it.
    var identity: String {
        let parts = [sha256, headers.contentType, headers.cacheControl, headers.contentEncoding ?? ""]
        return String(SHA256Digest(hashing: Bytes(utf8: parts.joined(separator: "\n"))).hex.prefix(32))
    }
}
