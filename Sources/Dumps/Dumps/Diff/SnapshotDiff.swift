import RemoteSettingsModel

/// The differences between two states of a collection: in records, fields and attachments.
///
/// They are computed from two values without I/O. If both states have equal bytes, no record is read.
package struct SnapshotDiff: Sendable {
    /// The properties of one side, without its records.
    package struct Side: Hashable, Sendable {
        let collection: CollectionID
        package let timestamp: Timestamp
        let records: Int
        /// The size of the bundle in bytes; `nil` if the side is not a bundle.
        let size: UInt64?
        let trust: Provenance.Kind
        /// The signer and root; `nil` if the state is not signed, or for a bundle without its lock file.
        let verdict: SignatureVerdict?
        /// The number of attachments in the bundle; `nil` if the side is not a bundle.
        let packagedAttachments: Int?
        /// The guards that were overridden to accept the state, as recorded in the lock file.
        let accepted: [String]
    }

    enum Status: String, Hashable, Sendable, CaseIterable {
        case same
        case changed
        /// Only the new side has the collection.
        case added
        /// Only the old side has the collection.
        case removed
    }

    let collection: CollectionID
    let status: Status
    let old: Side?
    package let new: Side?
    /// The changed records, in the order of ids.
    package let records: ChangedRecords
    /// The changes of the metadata members written by people, sorted by name; empty unless both sides include them.
    let metadata: FieldChanges
    /// The files that only one side's bundle contains, although the records of both refer to them; empty unless both
    /// sides are bundles.
    let packaging: PackagingChange
    /// Whether the states are equal except for their signatures.
    let isOnlySignedAgain: Bool

    /// Whether the new state verifies against a different root, as far as both sides state it.
    var hasOtherRoot: Bool {
        guard let root = old?.verdict?.root, let other = new?.verdict?.root else { return false }
        return root != other
    }

    /// Compares two states.
    ///
    /// - Parameters:
    ///   - old: the old state; `nil` if that side does not have the collection. Every record then counts as created.
    ///   - new: the new state; `nil` if that side does not have the collection. Every record then counts as deleted.
    /// - Returns: `nil` if neither side has it.
    package init?(from old: ComparedSnapshot?, to new: ComparedSnapshot?) {
        guard let collection = new?.collection ?? old?.collection else { return nil }
        self.collection = collection
        self.old = old.map(Side.init)
        self.new = new.map(Side.init)
        guard let old, let new else {
            status = new == nil ? .removed : .added
            records = ChangedRecords(from: old?.records ?? RecordTable(), to: new?.records ?? RecordTable())
            metadata = FieldChanges()
            packaging = PackagingChange()
            isOnlySignedAgain = false
            return
        }
        let isSame = old.payload == new.payload
        records = isSame ? ChangedRecords() : ChangedRecords(from: old.records, to: new.records)
        metadata =
            old.metadata == nil || new.metadata == nil
            ? FieldChanges() : FieldComparer.changes(from: old.metadata, to: new.metadata)
        packaging = PackagingChange(from: old, to: new)
        let isEqual = isSame && metadata.isEmpty && old.isSameSeal(as: new)
        isOnlySignedAgain =
            isEqual && old.signatures != nil && new.signatures != nil && old.signatures != new.signatures
        status = isEqual && !isOnlySignedAgain ? .same : .changed
    }

    var counts: RecordCounts { records.counts }

    /// The counts of attachments that were added or removed, or whose bytes changed, according to the records.
    var attachments: AttachmentCounts { records.attachments }
}

extension SnapshotDiff.Side {
    fileprivate init(_ snapshot: ComparedSnapshot) {
        self.init(
            collection: snapshot.collection, timestamp: snapshot.timestamp, records: snapshot.records.count,
            size: snapshot.size, trust: snapshot.trust, verdict: snapshot.verdict,
            packagedAttachments: snapshot.packaged?.count,
            accepted: snapshot.accepted)
    }
}

extension ComparedSnapshot {
    /// Returns whether the provenance and the packaged attachments are the same, as far as both sides state them.
    fileprivate func isSameSeal(as other: ComparedSnapshot) -> Bool {
        if let packaged, let others = other.packaged, packaged != others { return false }
        guard trust == other.trust else { return false }
        guard let verdict, let others = other.verdict else { return true }
        return verdict.signer == others.signer && verdict.root == others.root
    }
}

/// The attachments that only one of two bundles contains, although the records of both refer to them, for example
/// because the attachment rule in `dumps.yaml` has changed.
struct PackagingChange: Sendable {
    /// The file names, in the order of record ids.
    private(set) var added: [String] = []
    private(set) var removed: [String] = []

    init() {}

    init(from old: ComparedSnapshot, to new: ComparedSnapshot) {
        guard let before = old.packaged.map(Set.init), let after = new.packaged.map(Set.init), before != after else {
            return
        }
        for record in new.records {
            guard let attachment = try? record.attachment(),
                let earlier = try? old.records.record(id: record.id)?.attachment(), earlier.hash == attachment.hash
            else { continue }
            switch (before.contains(attachment.hash), after.contains(attachment.hash)) {
            case (false, true): added.append(DiffWords.name(attachment))
            case (true, false): removed.append(DiffWords.name(attachment))
            default: break
            }
        }
    }
}
