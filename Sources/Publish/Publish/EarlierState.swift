import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// An earlier state of a collection, from the git history of the dumps directory. A rollback publishes it as a new
/// state.
package struct EarlierState: Sendable {
    package let timestamp: Timestamp
    /// The records, attachments and metadata of the state, in the form of a source to publish.
    package let source: CollectionSource

    /// Finds the newest state that is earlier than the current one, and verifies it. Does I/O and runs git.
    ///
    /// - Parameters:
    ///   - time: the latest time of the state; `nil` for the state before the current one.
    ///   - policy: the policy that the signature must satisfy, at the time in the lock file of the same commit.
    /// - Throws: `Failure`, or `Failure` if the lock file cannot be read.
    package init(
        of id: CollectionID, in directory: DumpsDirectory, to time: Timestamp? = nil, by policy: TrustPolicy
    ) async throws {
        let lock = try directory.lockFile()
        guard let held = lock.collections[id] else {
            throw Failure.notLocked([id], directory.lockPath, known: lock.collections.keys)
        }
        let history = try await BundleHistory(of: directory.path, in: ["git"])
        let listing = try await history.bundles(of: id)
        let earlier = listing.bundles.filter { $0.timestamp < held.timestamp }
        guard let wanted = earlier.first(where: { $0.timestamp <= time ?? held.timestamp }) else {
            throw Failure.noEarlierState(
                id, current: held.timestamp, time: time, gap: listing.isCut ? history.gap : nil)
        }
        let found = try await Self.verified(wanted, policy)
        if time == nil, let before = earlier.first(where: { $0.timestamp < wanted.timestamp }) {
            let current = try directory.bundle(id).payload().records
            let records = try await before.open().payload().records
            // If the same rollback is repeated by mistake, do not publish the bad state again.
            if try Self.written(current) == Self.written(records) {
                throw Failure.rolledBack(id, to: before.timestamp, next: wanted.timestamp)
            }
        }
        timestamp = wanted.timestamp
        let place = "\(wanted.origin)"
        source = CollectionSource(
            id: id,
            records: try Self.written(found.payload().records).map { record in
                SourceRecord(id: record.id, members: record.members, file: place, line: 1)
            },
            attachments: Dictionary(uniqueKeysWithValues: found.attachments.map { ($0, .bundle(found)) }),
            metadata: try found.metadata().writtenMembers(),
            notes: [
                "rolled back to its state of \(wanted.timestamp.rfc3339) (\(place)); also revert the change in its "
                    + "source, or the next publish will undo the rollback"
            ])
    }

    private static func verified(_ historic: HistoricBundle, _ policy: TrustPolicy) async throws -> BundleReader {
        do {
            guard let entry = try await historic.lockEntry(), entry.trust.isSigned else {
                throw Failure(.untrusted, problem: "its lock file lists it as unsigned")
            }
            let bundle = try await historic.open()
            try BundleVerifier(policy).verify(
                await historic.contents(), name: "\(historic.origin)", of: historic.collection, against: entry)
            return bundle
        } catch  where !error.isOfMachine {
            throw Failure.earlierNotVouched(historic.collection, place: "\(historic.origin)", problem: "\(error)")
        }
    }

    /// Returns the records as JSON without braces and without `last_modified`, which publishing sets.
    private static func written(_ records: RecordTable) throws(Failure) -> [WrittenRecord] {
        var written: [WrittenRecord] = []
        for record in records {
            guard case .object(let members) = try JSONValue(parsing: record.json) else { continue }
            let text = JSONText.compact(.object(members.filter { $0.key != "last_modified" }))
            written.append(WrittenRecord(id: record.id, members: Bytes(text)[1..<text.count - 1]))
        }
        return written
    }

    private struct WrittenRecord: Hashable {
        let id: String
        let members: Bytes
    }
}
