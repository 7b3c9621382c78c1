import RemoteSettingsModel

/// How two states of a collection differ: by records and their ids, fields and their names, and attachments.
///
/// Computed from two values without I/O. Two states of equal bytes are recognised without reading a record.
package struct SnapshotDiff: Sendable {
    /// One side without its records.
    package struct Side: Hashable, Sendable {
        package let collection: CollectionID
        package let timestamp: Timestamp
        package let records: Int
        package let trust: Provenance.Kind
        /// The leaf certificate's name; `nil` where nothing is signed, and where only the bundle is at hand.
        package let signer: String?
        /// Attachments in the bundle; `nil` where the side is no bundle.
        package let packagedAttachments: Int?
    }

    package enum Status: String, Hashable, Sendable, CaseIterable {
        case same
        case changed
        /// Only the new side has the collection.
        case added
        /// Only the old side has it.
        case removed
    }

    package let collection: CollectionID
    package let status: Status
    package let old: Side?
    package let new: Side?
    /// In the order of ids.
    package let records: RecordChanges
    /// The members of the metadata that people write, where both sides say what they are; sorted by name.
    package let metadata: [FieldChange]

    /// - Parameters:
    ///   - old: `nil` where that side does not have the collection; then every record is created.
    ///   - new: `nil` where that side does not have it; then every record is deleted.
    /// - Returns: `nil` where neither side has it.
    package init?(from old: ComparedSnapshot?, to new: ComparedSnapshot?) {
        guard let collection = new?.collection ?? old?.collection else { return nil }
        self.collection = collection
        self.old = old.map(Side.init)
        self.new = new.map(Side.init)
        guard let old, let new else {
            status = new == nil ? .removed : .added
            records = RecordChanges(from: old?.records ?? RecordTable(), to: new?.records ?? RecordTable())
            metadata = []
            return
        }
        let isSame = old.payload == new.payload
        records = isSame ? RecordChanges() : RecordChanges(from: old.records, to: new.records)
        metadata =
            old.metadata == nil || new.metadata == nil
            ? [] : FieldComparer.changes(from: old.metadata, to: new.metadata)
        status = isSame && metadata.isEmpty && old.isSameSeal(as: new) ? .same : .changed
    }

    /// How many records changed in this way.
    package func count(_ kind: RecordChange.Kind) -> Int { records.count(kind) }

    /// Attachments that records name on the new side only, whose bytes are others, and that only the old side names.
    package var attachments: AttachmentCounts { records.attachments }
}

extension SnapshotDiff.Side {
    fileprivate init(_ snapshot: ComparedSnapshot) {
        self.init(
            collection: snapshot.collection, timestamp: snapshot.timestamp, records: snapshot.records.count,
            trust: snapshot.trust, signer: snapshot.signer, packagedAttachments: snapshot.packaged?.count)
    }
}

extension ComparedSnapshot {
    /// Whether signer and packaged attachments are the same, as far as both sides say.
    fileprivate func isSameSeal(as other: ComparedSnapshot) -> Bool {
        if let packaged, let others = other.packaged, packaged != others { return false }
        guard trust == other.trust else { return false }
        if let signer, let others = other.signer { return signer == others }
        return true
    }
}
