/// A record that was deleted, as a changeset that answers `_since` tells it.
public struct Tombstone: Hashable, Sendable {
    public let id: String
    /// When it was deleted; servers may leave it out.
    public let lastModified: Timestamp?

    public init(id: String, lastModified: Timestamp?) {
        self.id = id
        self.lastModified = lastModified
    }
}
