import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// A collection's next state, which `publish` computes from its sources and its current state. It is not signed yet. No
/// I/O, no clock.
package struct NextState: Sendable {
    package enum Status: String, Hashable, Sendable {
        case created
        /// Records changed.
        case updated
        /// Only members of the metadata changed. The timestamp does not change, because signatures do not cover the
        /// metadata.
        case metadata
        case unchanged
        /// Only the signatures are new.
        case resigned
        /// The bundle contains different attachments, because the rule in `dumps.yaml` changed.
        case repacked
    }

    package let collection: CollectionID
    package private(set) var status: Status
    package let payload: Payload
    /// The differences between the records and those of the current bundle.
    package let changes: RecordCounts
    /// The metadata without signatures.
    package let metadata: CollectionMetadata

    /// Computes the next state from a collection's sources and its current bundle.
    ///
    /// - Parameters:
    ///   - present: the bundle's state; `nil` if there is no bundle.
    ///   - time: the `last_modified` of new and changed records. If the current timestamp is not earlier than `time`,
    ///     the current timestamp plus one millisecond is used instead.
    ///   - isExact: whether `time` must be later than the current timestamp.
    /// - Throws: `Failure`, also if a record cannot contain a value, such as a number that is too large.
    package init(_ source: CollectionSource, onto present: PresentState?, at time: Timestamp, isExact: Bool) throws {
        collection = source.id
        let timely = Result { () throws(Failure) in
            try Self.timestamp(of: source.id, onto: present, at: time)
        }
        // A wrong clock is an error only if something changed, so ignore the error for now.
        let next = (try? timely.get()) ?? time
        let before = present?.payload.records ?? RecordTable()
        // The timestamps of existing records are kept only if their signature is trusted.
        let known = present?.isVouched == true ? before : RecordTable()
        let all = try Self.records(source.records, onto: known, at: next)
        changes = RecordCounts(from: before, to: all)
        let members = Self.members(of: source)
        if let present, present.isVouched, changes.isEmpty {
            payload = present.payload
            let written = try present.metadata.writtenMembers()
            status = Set(written) == Set(members) ? .unchanged : .metadata
            metadata = try Self.metadata(source.id, members, at: max(time, payload.timestamp))
            return
        }
        _ = try timely.get()
        if let present, present.isVouched, isExact, time <= present.payload.timestamp {
            throw Failure.notLater(source.id, present: present.payload.timestamp, time: time)
        }
        status = present == nil ? .created : .updated
        payload = Payload(all, timestamp: next)
        metadata = try Self.metadata(source.id, members, at: next)
    }

    /// Keeps the current state, in order to sign it again, to pack it again or to leave it unchanged.
    package init(keeping present: PresentState, of id: CollectionID, as status: Status, at time: Timestamp) throws {
        collection = id
        self.status = status
        changes = RecordCounts()
        payload = present.payload
        metadata = try Self.metadata(id, present.metadata.writtenMembers(), at: max(time, present.payload.timestamp))
    }

    package var timestamp: Timestamp { payload.timestamp }

    /// The state as an unverified snapshot, for comparisons.
    package var unsigned: UnverifiedSnapshot {
        UnverifiedSnapshot(collection: collection, payload: payload, metadata: metadata)
    }

    /// Returns this state with a different status.
    func with(_ status: Status) -> NextState {
        var state = self
        state.status = status
        return state
    }

    /// Returns the timestamp for a new state: `time`, or one millisecond after the current timestamp if that is later.
    private static func timestamp(
        of id: CollectionID, onto present: PresentState?, at time: Timestamp
    ) throws(Failure) -> Timestamp {
        guard let present, present.isVouched, case let held = present.payload.timestamp, held >= time else {
            return time
        }
        // Apps refuse a timestamp that is ahead of their clock by more than this tolerance.
        guard held < time.advanced(by: .seconds(Limits.clockToleranceSeconds)) else {
            throw .clockBehind(id, present: held, time: time)
        }
        return held.advanced(by: .milliseconds(1))
    }

    /// Returns the records. Unchanged records keep their `last_modified`.
    private static func records(
        _ records: [SourceRecord], onto known: RecordTable, at time: Timestamp
    ) throws -> RecordTable {
        let all = try Self.records(records, at: time) { known.record(id: $0.id)?.lastModified }
        let updated = Set(
            all.differences(from: known).compactMap { if case .updated(_, let new) = $0 { new.id } else { nil } })
        guard !updated.isEmpty else { return all }
        let changed = try Self.records(records.filter { updated.contains($0.id) }, at: time, keeping: { _ in nil })
        return all.applying(changed, tombstones: [])
    }

    /// Returns the records as a table.
    ///
    /// - Parameter keeping: returns the `last_modified` that a record keeps, or `nil` if it gets the new one.
    private static func records(
        _ records: [SourceRecord], at time: Timestamp, keeping: @escaping (SourceRecord) -> Timestamp?
    ) throws -> RecordTable {
        func text(_ record: SourceRecord) -> Bytes {
            let head = "{\"last_modified\":\(keeping(record) ?? time),"
            return Bytes(Array(head.utf8) + record.members.array + [UInt8(ascii: "}")])
        }
        do throws(Failure) {
            return try RecordTable(records.lazy.map(text))
        } catch {
            let problems = records.compactMap { record -> Failure? in
                do throws(Failure) {
                    _ = try RecordTable([text(record)])
                    return nil
                } catch {
                    return Failure(
                        place: record.file, line: record.line, problem: "record \(record.id): \(error.problem)",
                        remedy: "correct the record")
                }
            }
            guard !problems.isEmpty else { throw error }
            throw Failure(problems: problems)
        }
    }

    /// Returns the members of the metadata that come from a source.
    private static func members(of source: CollectionSource) -> [JSONValue.Member] {
        let attachment =
            source.metadata.first { $0.key == "attachment" }?.value
            ?? .members(["enabled": .bool(!source.attachments.isEmpty), "required": .bool(false)])
        return source.metadata.filter { $0.key != "attachment" } + [.init(key: "attachment", value: attachment)]
    }

    private static func metadata(
        _ id: CollectionID, _ members: [JSONValue.Member], at time: Timestamp
    ) throws(Failure) -> CollectionMetadata {
        let own: [JSONValue.Member] = [
            .init(key: "id", value: .string(id.name)), .init(key: "bucket", value: .string(id.bucket)),
            .init(key: "last_modified", value: .count(time.milliseconds)),
        ]
        let sorted = members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        return try CollectionMetadata(parsing: Bytes(JSONText.compact(.object(own + sorted))))
    }
}

/// The parts of the current bundle that affect the next state.
package struct PresentState: Sendable {
    package let payload: Payload
    let metadata: CollectionMetadata
    /// Whether the state verifies against a configured root. If not, its timestamp and those of its records are
    /// ignored, but the changes are still shown.
    let isVouched: Bool
}
