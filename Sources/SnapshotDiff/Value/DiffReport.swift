/// The comparison of two sides, collection by collection: what the renderers show.
package struct DiffReport: Hashable, Sendable {
    /// What the old side is called, such as `git:HEAD`.
    package let old: String
    package let new: String
    /// In the order of their names, those that are the same among them.
    package let collections: [SnapshotDiff]

    package init(old: String, new: String, collections: [SnapshotDiff]) {
        self.old = old
        self.new = new
        self.collections = collections.sorted { $0.collection < $1.collection }
    }

    package var changed: [SnapshotDiff] { collections.filter { $0.status != .same } }
    package var isSame: Bool { changed.isEmpty }

    /// How many records of all collections changed in this way.
    package func count(_ kind: RecordChange.Kind) -> Int { collections.reduce(0) { $0 + $1.count(kind) } }

    package var attachments: AttachmentCounts {
        collections.reduce(AttachmentCounts()) { $0 + $1.attachments }
    }
}
