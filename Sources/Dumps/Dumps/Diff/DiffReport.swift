import RemoteSettingsModel

/// The comparison of two sides, collection by collection, for the renderers.
package struct DiffReport: Sendable {
    /// The name of the old side, such as `git:HEAD`.
    let old: String
    let new: String
    /// The collections, sorted by name, including those that are equal on both sides.
    let collections: [SnapshotDiff]
    /// The settings of `dumps.yaml` that differ; empty unless both sides have one.
    let settings: [SettingChange]
    /// The collections that only the old side has, and that the new side's `dumps.yaml` does not list.
    let unlisted: Set<CollectionID>

    init(
        old: String, new: String, collections: [SnapshotDiff], settings: [SettingChange] = [],
        unlisted: Set<CollectionID> = []
    ) {
        self.unlisted = unlisted
        self.old = old
        self.new = new
        self.settings = settings
        self.collections = collections.sorted { $0.collection < $1.collection }
    }

    package var changed: [SnapshotDiff] { collections.filter { $0.status != .same } }
    package var isSame: Bool { changed.isEmpty && settings.isEmpty }

    /// The changed records of all collections.
    var counts: RecordCounts { collections.reduce(RecordCounts()) { $0 + $1.counts } }

    var attachments: AttachmentCounts {
        collections.reduce(AttachmentCounts()) { $0 + $1.attachments }
    }
}
