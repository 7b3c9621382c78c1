import AuthoredText
import CollectionSources
import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// What publishing makes of a collection's sources and its present state, before anything is signed. Pure: no I/O, no clock.
package struct NextState: Sendable {
    package enum Status: String, Hashable, Sendable {
        case created
        /// Records changed.
        case updated
        /// Only members of the metadata changed: the timestamp stays, as signatures do not cover the metadata.
        case metadata
        case unchanged
        /// Nothing but the signatures is new.
        case resigned
        /// The bundle has other attachments, because the rule in `dumps.yaml` is another.
        case repacked
    }

    package let status: Status
    /// The records at their timestamp; the metadata has no signature yet.
    package let unsigned: UnverifiedSnapshot
    package let differences: [RecordDifference]

    /// - Parameters:
    ///   - present: the state that the bundle has; `nil` where there is none.
    ///   - time: what new and changed records get as `last_modified`, unless the present timestamp is later: then the next
    ///     millisecond.
    ///   - isExact: whether `time` must be later than the present timestamp.
    /// - Throws: ``PublishError``, or ``SourceProblems`` for a value that no record can have, such as a number that is too
    ///   large.
    package init(
        _ source: CollectionSource, onto present: UnverifiedSnapshot?, at time: Timestamp, isExact: Bool, limits: Limits
    ) throws {
        let id = source.id
        let timely = Result { () throws(PublishError) in
            try Self.timestamp(of: id, onto: present, at: time, limits: limits)
        }
        // A clock that is too far behind matters only where something changed.
        let next = (try? timely.get()) ?? time
        let empty = RecordTable()
        let before = present?.records ?? empty
        var all = try Self.records(source, source.records, at: next, limits: limits) { record in
            before.record(id: record.id)?.lastModified
        }
        var differences = all.differences(from: before)
        let updated = Set(differences.compactMap { if case .updated(_, let new) = $0 { new.id } else { nil } })
        if !updated.isEmpty {
            let changed = try Self.records(
                source, source.records.filter { updated.contains($0.id) }, at: next, limits: limits,
                keeping: { _ in nil })
            all = all.applying(changed, tombstones: [])
            differences = all.differences(from: before)
        }
        self.differences = differences
        var members = source.metadata.filter { $0.key != "attachment" }
        members.append(.init(key: "attachment", value: Self.attachment(source)))
        if let present, differences.isEmpty {
            let kept = try Self.unsignedMembers(present.metadata, limits: limits)
            status = Set(kept) == Set(members) ? .unchanged : .metadata
            unsigned =
                status == .unchanged
                ? present
                : UnverifiedSnapshot(
                    collection: id, payload: present.payload,
                    metadata: try Self.metadata(id, members, at: max(time, present.timestamp), limits: limits))
            return
        }
        _ = try timely.get()
        if let present, isExact, time <= present.timestamp {
            throw PublishError.notLater(id, present: present.timestamp, time: time)
        }
        status = present == nil ? .created : .updated
        unsigned = UnverifiedSnapshot(
            collection: id, payload: Payload(all, timestamp: next),
            metadata: try Self.metadata(id, members, at: next, limits: limits))
    }

    /// The present state, to be signed again.
    package init(resigning present: UnverifiedSnapshot, at time: Timestamp, limits: Limits) throws {
        status = .resigned
        differences = []
        unsigned = UnverifiedSnapshot(
            collection: present.collection, payload: present.payload,
            metadata: try Self.metadata(
                present.collection, Self.unsignedMembers(present.metadata, limits: limits),
                at: max(time, present.timestamp), limits: limits))
    }

    /// The present state: as it is, or packed again.
    init(keeping present: UnverifiedSnapshot, as status: Status) {
        self.status = status
        differences = []
        unsigned = present
    }

    private static func timestamp(
        of id: CollectionID, onto present: UnverifiedSnapshot?, at time: Timestamp, limits: Limits
    ) throws(PublishError) -> Timestamp {
        guard let held = present?.timestamp, held >= time else { return time }
        // Apps refuse what is more than this ahead of their clocks.
        guard held < time.advanced(by: .seconds(limits.clockToleranceSeconds)) else {
            throw .clockBehind(id, present: held, time: time)
        }
        return held.advanced(by: .milliseconds(1))
    }

    /// - Parameter keeping: the `last_modified` that a record keeps; `nil` for the new one.
    private static func records(
        _ source: CollectionSource, _ records: [SourceRecord], at time: Timestamp, limits: Limits,
        keeping: (SourceRecord) -> Timestamp?
    ) throws -> RecordTable {
        func text(_ record: SourceRecord) -> [UInt8] {
            Array("{\"last_modified\":\(keeping(record) ?? time),".utf8) + record.members.array + [UInt8(ascii: "}")]
        }
        var body = Array("{\"metadata\":{},\"timestamp\":\(time),\"changes\":[".utf8)
        for (index, record) in records.enumerated() {
            if index > 0 { body.append(UInt8(ascii: ",")) }
            body += text(record)
        }
        body += Array("]}".utf8)
        do throws(ChangesetError) {
            return try Changeset(parsing: Bytes(body), limits: limits).records
        } catch {
            var problems: [ConfigurationError] = []
            for record in records {
                let alone =
                    Array("{\"metadata\":{},\"timestamp\":1,\"changes\":[".utf8) + text(record) + Array("]}".utf8)
                do throws(ChangesetError) {
                    _ = try Changeset(parsing: Bytes(alone), limits: limits)
                } catch {
                    let problem = if case .json(let reason) = error { "\(reason.reason)" } else { "\(error)" }
                    problems.append(
                        ConfigurationError(
                            file: record.file, line: record.line, problem: "record \(record.id): \(problem)",
                            remedy: "correct the record"))
                }
            }
            guard !problems.isEmpty else { throw error }
            throw SourceProblems(problems: problems)
        }
    }

    private static func attachment(_ source: CollectionSource) -> JSONValue {
        source.metadata.first { $0.key == "attachment" }?.value
            ?? .members(["enabled": .bool(!source.attachments.isEmpty), "required": .bool(false)])
    }

    /// The members of metadata that people write.
    private static func unsignedMembers(
        _ metadata: CollectionMetadata, limits: Limits
    ) throws(JSONError) -> [JSONValue.Member] {
        guard case .object(let members) = try JSONValue(parsing: metadata.json, limits: limits) else { return [] }
        return members.filter { !["id", "bucket", "last_modified", "signature", "signatures"].contains($0.key) }
    }

    private static func metadata(
        _ id: CollectionID, _ members: [JSONValue.Member], at time: Timestamp, limits: Limits
    ) throws(JSONError) -> CollectionMetadata {
        let own: [JSONValue.Member] = [
            .init(key: "id", value: .string(id.name)), .init(key: "bucket", value: .string(id.bucket)),
            .init(key: "last_modified", value: .count(time.milliseconds)),
        ]
        let sorted = members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        return try CollectionMetadata(parsing: Bytes(JSONText.compact(.object(own + sorted))), limits: limits)
    }
}

/// Why a collection cannot be published.
package enum PublishError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The present timestamp is so far ahead of the clock that apps would refuse the next one.
    case clockBehind(CollectionID, present: Timestamp, time: Timestamp)
    /// The time that was asked for is not later than the present timestamp.
    case notLater(CollectionID, present: Timestamp, time: Timestamp)
    /// The present bundle is not the lock's.
    case damaged(CollectionID, String)

    package var description: String {
        switch self {
        case .clockBehind(let id, let present, let time):
            "\(id): expected a clock at most a day behind the present timestamp, \(present.rfc3339), found \(time.rfc3339); "
                + "correct this machine's clock, or take back the present state with git and publish again"
        case .notLater(let id, let present, let time):
            "\(id): expected a time after the present timestamp, \(present.rfc3339), found --at \(time.rfc3339); give a later "
                + "one, as timestamps only go forward"
        case .damaged(let id, let problem):
            "\(id): the present bundle cannot be used: \(problem); take it back with git, or check it with: rsdump verify"
        }
    }
}
