import RemoteSettingsModel
import SnapshotBundle

/// A collection as a source gives it. Nothing vouches for it yet.
struct ImportedCollection {
    let unverified: UnverifiedSnapshot
    var records: RecordTable { unverified.records }
    /// PEM texts that may be the chain of its signatures.
    var chains: [Bytes] = []
    /// Files of the size and hash that a record says, or why the source has left them out.
    var attachments: [SHA256Digest: AttachmentInput] = [:]
    /// What is in the source and cannot be taken, one line each.
    var notes: [String] = []

    /// - Parameter changeset: `{"metadata": …, "timestamp": …, "changes": …}`, with all records.
    /// - Throws: `ChangesetError`.
    init(_ id: CollectionID, changeset: Changeset) throws(ChangesetError) {
        unverified = try changeset.snapshot(of: id, onto: nil)
    }

    /// What is held already, for attachments that belong to it.
    init(holding snapshot: Snapshot) {
        unverified = UnverifiedSnapshot(
            collection: snapshot.collection, payload: snapshot.payload, metadata: snapshot.metadata)
    }
}
