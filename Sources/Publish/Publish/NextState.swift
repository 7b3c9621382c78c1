import Dumps
import RemoteSettingsModel
import SnapshotBundle
import SnapshotTrust

/// The state that publishing makes from a collection's sources and its current state. Nothing is signed yet. No I/O, no
/// clock.
package struct NextState: Sendable {
    package enum Status: String, Hashable, Sendable {
        case created
        /// Records changed.
        case updated
        /// Only members of the metadata changed. The timestamp stays, because signatures do not cover the metadata.
        case metadata
        case unchanged
        /// Only the signatures are new.
        case resigned
        /// The bundle has other attachments, because the rule in `dumps.yaml` changed.
        case repacked
    }

    package let collection: CollectionID
    package private(set) var status: Status
    package let payload: Payload
    package let differences: [RecordDifference]
    /// The metadata without signatures.
    package let metadata: CollectionMetadata

    /// Makes the next state from a collection's sources and its current bundle.
    ///
    /// - Parameters:
    ///   - present: the bundle's state; `nil` if there is no bundle.
    ///   - time: the `last_modified` of new and changed records. If the current timestamp is not earlier than `time`,
    ///     they get the millisecond after the current timestamp.
    ///   - isExact: whether `time` must be later than the current timestamp.
    /// - Throws: ``PublishError``, or ``SourceProblems`` if a value cannot be in a record (a number that is too large,
    ///   for example).
    package init(
        _ source: CollectionSource, onto present: PresentState?, at time: Timestamp, isExact: Bool, limits: Limits
    ) throws {
        collection = source.id
        let timely = Result { () throws(PublishError) in
            try Self.timestamp(of: source.id, onto: present, at: time, limits: limits)
        }
        // A clock that is too far behind matters only if something changed.
        let next = (try? timely.get()) ?? time
        let before = present?.payload.records ?? RecordTable()
        // A record's age counts only if a signature vouches for it.
        let known = present?.isVouched == true ? before : RecordTable()
        let all =
            try source.plain?.stamped(onto: known, at: next)
            ?? Self.records(source.records, onto: known, at: next, limits: limits)
        differences = all.differences(from: before)
        let members = Self.members(of: source)
        if let present, present.isVouched, differences.isEmpty {
            payload = present.payload
            let written = try present.metadata.writtenMembers(limits: limits)
            status = Set(written) == Set(members) ? .unchanged : .metadata
            metadata = try Self.metadata(source.id, members, at: max(time, payload.timestamp), limits: limits)
            return
        }
        _ = try timely.get()
        if let present, present.isVouched, isExact, time <= present.payload.timestamp {
            throw PublishError.notLater(source.id, present: present.payload.timestamp, time: time)
        }
        status = present == nil ? .created : .updated
        payload = Payload(all, timestamp: next)
        metadata = try Self.metadata(source.id, members, at: next, limits: limits)
    }

    /// Keeps the current state, which is then signed again, packed again or left as it is.
    package init(
        keeping present: PresentState, of id: CollectionID, as status: Status, at time: Timestamp, limits: Limits
    ) throws {
        collection = id
        self.status = status
        differences = []
        payload = present.payload
        metadata = try Self.metadata(
            id, present.metadata.writtenMembers(limits: limits), at: max(time, present.payload.timestamp),
            limits: limits)
    }

    package var timestamp: Timestamp { payload.timestamp }

    /// The state as a catalogue lists it.
    var listed: Catalogue.Entry {
        Catalogue.Entry(
            timestamp: timestamp, payload: SHA256Digest(hashing: payload.bytes), records: payload.records.count)
    }

    /// The state in the form that is compared. Nothing vouches for it.
    package var unsigned: UnverifiedSnapshot {
        UnverifiedSnapshot(collection: collection, payload: payload, metadata: metadata)
    }

    /// The same state with another status.
    func with(_ status: Status) -> NextState {
        var state = self
        state.status = status
        return state
    }

    /// The timestamp of a state that differs from the current one.
    static func timestamp(
        of id: CollectionID, onto present: PresentState?, at time: Timestamp, limits: Limits
    ) throws(PublishError) -> Timestamp {
        guard let present, present.isVouched, case let held = present.payload.timestamp, held >= time else {
            return time
        }
        // Apps refuse a timestamp that is further ahead of their clocks.
        guard held < time.advanced(by: .seconds(Limits.clockToleranceSeconds)) else {
            throw .clockBehind(id, present: held, time: time)
        }
        return held.advanced(by: .milliseconds(1))
    }

    /// The records, of which those that did not change keep their `last_modified`.
    private static func records(
        _ records: [SourceRecord], onto known: RecordTable, at time: Timestamp, limits: Limits
    ) throws -> RecordTable {
        let all = try Self.records(records, at: time, limits: limits) { known.record(id: $0.id)?.lastModified }
        let updated = Set(
            all.differences(from: known).compactMap { if case .updated(_, let new) = $0 { new.id } else { nil } })
        guard !updated.isEmpty else { return all }
        let changed = try Self.records(
            records.filter { updated.contains($0.id) }, at: time, limits: limits, keeping: { _ in nil })
        return all.applying(changed, tombstones: [])
    }

    /// - Parameter keeping: the `last_modified` that a record keeps; `nil` if it gets the new one.
    private static func records(
        _ records: [SourceRecord], at time: Timestamp, limits: Limits, keeping: @escaping (SourceRecord) -> Timestamp?
    ) throws -> RecordTable {
        func text(_ record: SourceRecord) -> Bytes {
            let head = "{\"last_modified\":\(keeping(record) ?? time),"
            return Bytes(Array(head.utf8) + record.members.array + [UInt8(ascii: "}")])
        }
        do throws(ChangesetError) {
            return try RecordTable(records.lazy.map(text), limits: limits)
        } catch {
            let problems = records.compactMap { record -> ConfigurationError? in
                do throws(ChangesetError) {
                    _ = try RecordTable([text(record)], limits: limits)
                    return nil
                } catch {
                    let problem = if case .json(let reason) = error { "\(reason.reason)" } else { "\(error)" }
                    return ConfigurationError(
                        file: record.file, line: record.line, problem: "record \(record.id): \(problem)",
                        remedy: "correct the record")
                }
            }
            guard !problems.isEmpty else { throw error }
            throw SourceProblems(problems: problems)
        }
    }

    /// The members of metadata that a source has.
    private static func members(of source: CollectionSource) -> [JSONValue.Member] {
        let attachment =
            source.metadata.first { $0.key == "attachment" }?.value
            ?? .members(["enabled": .bool(!source.attachments.isEmpty), "required": .bool(false)])
        return source.metadata.filter { $0.key != "attachment" } + [.init(key: "attachment", value: attachment)]
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

/// The parts of a current bundle that count for the next state.
package struct PresentState: Sendable {
    package let payload: Payload
    let metadata: CollectionMetadata
    /// Whether a signature of a configured root vouches for the state. If not, neither the ages of the records nor the
    /// timestamp count. The difference is shown in either case.
    let isVouched: Bool
}

/// Why a collection cannot be published.
package enum PublishError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The current timestamp is so far ahead of the clock that apps would refuse the next one.
    case clockBehind(CollectionID, present: Timestamp, time: Timestamp)
    /// The time that was asked for is not later than the current timestamp.
    case notLater(CollectionID, present: Timestamp, time: Timestamp)
    /// The current bundle is damaged or differs from its entry in the lock.
    case damaged(CollectionID, String)
    /// The collection was to be signed again, and no signature of a configured root vouches for its state.
    case notVouched(CollectionID, String)
    /// The state differs from the one that the current catalogue lists, and no signature of a configured root vouches
    /// for it.
    case notVouchedInCatalogue(CollectionID, String)
    /// The current catalogue belongs to another publisher.
    case otherPublisher(PublisherName, configured: PublisherName)
    /// `dumps.yaml` names another publisher than the one that was asked for, or none.
    case publisherElsewhere(PublisherName, configured: PublisherName?)
    /// No catalogues were asked for, but `dumps.yaml` names this publisher.
    case hasCatalogues(PublisherName)
    /// The current catalogue has the highest possible number.
    case numbersUsedUp(CollectionID)
    /// The current catalogue cannot be read, or clients that hold it would refuse the next one.
    case catalogue(CatalogueError)
    /// Clients would take the catalogue for unconfirmed before the next run is due.
    case unconfirmedTooEarly(CollectionID, end: Timestamp, due: Timestamp)
    /// There are no catalogues to confirm.
    case noCatalogue(String)
    /// There is nothing in the directory that could be confirmed.
    case nothingToConfirm(String)
    /// There is a source for the catalogue, but publishing makes the catalogue itself.
    case sourceOfCatalogue(CollectionID)
    /// The command of `publish --sign-with` gave no signature. It is not quoted, because a PIN may be in it.
    case noSignature(String)

    package var description: String {
        switch self {
        case .clockBehind(let id, let present, let time):
            "\(id): expected a clock that is at most a day behind the current timestamp, \(present.rfc3339), found "
                + "\(time.rfc3339); "
                + "correct this machine's clock, or take the current state back with git and publish again"
        case .notLater(let id, let present, let time):
            "\(id): expected a time after the current timestamp, \(present.rfc3339), found --at \(time.rfc3339); give "
                + "a later "
                + "time, because timestamps only go forward"
        case .notVouched(let id, let problem):
            "\(id): expected a valid signature of a root in dumps.yaml, because only signed states are signed "
                + "again; found "
                + "\(problem); publish it from its source, or remove it with: rsdump remove \(id)"
        case .notVouchedInCatalogue(let id, let problem):
            "\(id): expected the state that the current catalogue lists, or a valid signature of a root in dumps.yaml, "
                + "found "
                + "\(problem); publish it from its source, take the bundle back with git, or remove it with: rsdump "
                + "remove \(id)"
        case .otherPublisher(let found, let configured):
            "\(Catalogue.collection): expected the publisher \(configured), as dumps.yaml says, found \(found), which "
                + "clients "
                + "know; change the name in dumps.yaml back, or start over under the new name with: rsdump remove "
                + "\(Catalogue.collection)"
        case .publisherElsewhere(let publisher, let configured):
            "--publisher \(publisher): expected the publisher in dumps.yaml, "
                + "\(configured?.description ?? "which names none"); "
                + "write the "
                + "publisher's name there, under catalogue:"
        case .hasCatalogues(let configured):
            "--no-catalogue: expected no catalogue: in dumps.yaml, found the publisher \(configured); to publish no "
                + "more catalogues, run"
                + " rsdump remove \(Catalogue.collection) and write catalogue: off"
        case .numbersUsedUp(let id):
            "\(id): expected a number below \(Catalogue.highestNumber), found this one, which somebody with the key "
                + "may have "
                + "made; numbers start again under a later signing certificate: rsdump keys renew"
        case .catalogue(.earlierCertificate(let found, let held)):
            "\(CatalogueError.earlierCertificate(found: found, held: held)); sign with the newer keys"
        case .catalogue(let error):
            "\(error); take the current state back with git, or start over with: rsdump remove \(Catalogue.collection)"
        case .unconfirmedTooEarly(let id, let end, let due):
            "\(id): expected a catalogue that is confirmed until the next run is due, \(due.rfc3339), which is half of "
                + "expires-after, found an end at \(end.rfc3339), where the signing certificate ends; shorten "
                + "expires-after in dumps.yaml, or renew the certificate with: rsdump keys renew DIR "
                + "--signer-public-key FILE, then run: rsdump publish --resign"
        case .noCatalogue(let file):
            "\(file): expected catalogue: with the name of the publisher, found none; write it, because only "
                + "catalogues can "
                + "be confirmed"
        case .nothingToConfirm(let path):
            "\(path): expected collections, found none; publish them first"
        case .sourceOfCatalogue(let id):
            "\(id): expected no source, because publish makes the catalogue itself; remove the source, or "
                + "catalogue: in dumps.yaml"
        case .noSignature(let problem):
            "--sign-with: expected a signature on the command's standard output, found that it failed: \(problem); "
                + "nothing "
                + "was published; try the command by itself, with any text on its standard input"
        case .damaged(let id, let problem):
            "\(id): the current bundle cannot be used: \(problem); take it back with git, or check it with: rsdump "
                + "verify"
        }
    }
}
