import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// The state that `publish` makes from a collection's sources and its current state. Nothing is signed yet. No I/O, no
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
    /// How the records differ from those of the current bundle.
    package let changes: RecordCounts
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
        // A clock that is too far behind is an error only if something changed.
        let next = (try? timely.get()) ?? time
        let before = present?.payload.records ?? RecordTable()
        // A record's age counts only if a signature vouches for it.
        let known = present?.isVouched == true ? before : RecordTable()
        let all = try Self.records(source.records, onto: known, at: next, limits: limits)
        changes = RecordCounts(from: before, to: all)
        let members = Self.members(of: source)
        if let present, present.isVouched, changes.isEmpty {
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

    /// Keeps the current state, to sign it again, to pack it again or to leave it as it is.
    package init(
        keeping present: PresentState, of id: CollectionID, as status: Status, at time: Timestamp, limits: Limits
    ) throws {
        collection = id
        self.status = status
        changes = RecordCounts()
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

    /// The state, for comparisons. Nothing vouches for it.
    package var unsigned: UnverifiedSnapshot {
        UnverifiedSnapshot(collection: collection, payload: payload, metadata: metadata)
    }

    /// This state with another status.
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
        do throws(FormatError) {
            return try RecordTable(records.lazy.map(text), limits: limits)
        } catch {
            let problems = records.compactMap { record -> ConfigurationError? in
                do throws(FormatError) {
                    _ = try RecordTable([text(record)], limits: limits)
                    return nil
                } catch {
                    return ConfigurationError(
                        file: record.file, line: record.line, problem: "record \(record.id): \(error.reason)",
                        remedy: "correct the record")
                }
            }
            guard !problems.isEmpty else { throw error }
            throw SourceProblems(problems: problems)
        }
    }

    /// The members of the metadata that come from a source.
    private static func members(of source: CollectionSource) -> [JSONValue.Member] {
        let attachment =
            source.metadata.first { $0.key == "attachment" }?.value
            ?? .members(["enabled": .bool(!source.attachments.isEmpty), "required": .bool(false)])
        return source.metadata.filter { $0.key != "attachment" } + [.init(key: "attachment", value: attachment)]
    }

    private static func metadata(
        _ id: CollectionID, _ members: [JSONValue.Member], at time: Timestamp, limits: Limits
    ) throws(FormatError) -> CollectionMetadata {
        let own: [JSONValue.Member] = [
            .init(key: "id", value: .string(id.name)), .init(key: "bucket", value: .string(id.bucket)),
            .init(key: "last_modified", value: .count(time.milliseconds)),
        ]
        let sorted = members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        return try CollectionMetadata(parsing: Bytes(JSONText.compact(.object(own + sorted))), limits: limits)
    }
}

/// The parts of the current bundle that count for the next state.
package struct PresentState: Sendable {
    package let payload: Payload
    let metadata: CollectionMetadata
    /// Whether a signature of a configured root vouches for the state. If not, the records' ages and the timestamp do
    /// not count. The changes are shown in either case.
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
    /// No signature of a configured root vouches for the state that is to be signed again.
    case notVouched(CollectionID, String)
    /// The state differs from the one that the current catalogue lists, and no signature of a configured root vouches
    /// for it.
    case notVouchedInCatalogue(CollectionID, String)
    /// The current catalogue belongs to another publisher.
    case otherPublisher(PublisherName, configured: PublisherName)
    /// `dumps.yaml` names another publisher than the one that was asked for, or none.
    case publisherElsewhere(PublisherName, configured: PublisherName?)
    /// `--no-catalogue` was given, but `dumps.yaml` names this publisher.
    case hasCatalogues(PublisherName)
    /// The current catalogue has the highest possible number.
    case numbersUsedUp(CollectionID)
    /// The current catalogue cannot be read, or clients that hold it would refuse the next one.
    case catalogue(BundleError)
    /// Clients would take the catalogue for unconfirmed before the next run is due.
    case unconfirmedTooEarly(CollectionID, end: Timestamp, due: Timestamp)
    /// There is no catalogue to confirm.
    case noCatalogue(String)
    /// The directory has no collection that a catalogue could confirm.
    case nothingToConfirm(String)
    /// There is a source for the catalogue, but publishing makes the catalogue itself.
    case sourceOfCatalogue(CollectionID)
    /// The command of `publish --sign-with` gave no signature. The error does not quote it, because it may contain a
    /// PIN.
    case noSignature(String)
    /// There is no earlier state to roll back to.
    case noEarlierState(CollectionID, current: Timestamp, time: Timestamp?)
    /// The current state has the records of an earlier one, so it was rolled back already.
    case rolledBack(CollectionID, to: Timestamp, next: Timestamp)
    /// No signature of a configured root vouches for the earlier state.
    case earlierNotVouched(CollectionID, place: String, problem: String)

    package var description: String {
        switch self {
        case .clockBehind(let id, let present, let time):
            "\(id): this machine's clock, \(time.rfc3339), is more than a day behind the current timestamp, "
                + "\(present.rfc3339); correct the clock, or restore the earlier bundle with git, then publish again"
        case .notLater(let id, let present, let time):
            "\(id): expected a time after the current timestamp, \(present.rfc3339), found --at \(time.rfc3339); give "
                + "a later time"
        case .notVouched(let id, let problem):
            "\(id): expected a valid signature of a root in dumps.yaml, found \(problem); publish it from its source, "
                + "or remove it with: rsdump remove \(id)"
        case .notVouchedInCatalogue(let id, let problem):
            "\(id): it has another state than the current catalogue lists, and no root in dumps.yaml vouches for it "
                + "(\(problem)); publish it from its source, restore its bundle with git, or remove it with: rsdump "
                + "remove \(id)"
        case .otherPublisher(let found, let configured):
            "\(Catalogue.collection): expected the publisher in dumps.yaml, \(configured), found \(found), which "
                + "clients know; change the name in dumps.yaml back, or, to start over with the new name, run: rsdump "
                + "remove \(Catalogue.collection)"
        case .publisherElsewhere(let publisher, let configured):
            "--publisher \(publisher): dumps.yaml names \(configured.map { "the publisher \($0)" } ?? "no publisher"); "
                + "leave out --publisher, or write the name into dumps.yaml, under catalogue:"
        case .hasCatalogues(let configured):
            "--no-catalogue: dumps.yaml names the publisher \(configured); to publish no more catalogues, run rsdump "
                + "remove \(Catalogue.collection) and write catalogue: off into dumps.yaml"
        case .numbersUsedUp(let id):
            "\(id): its number is \(Catalogue.highestNumber), the highest possible one, which a thief of the key may "
                + "have made; to begin again at 1, make a later signing certificate with: rsdump keys renew DIR"
        case .catalogue(let error) where error.code == .rollback: "\(error); sign with the newer keys"
        case .catalogue(let error):
            "\(error); restore the bundle with git, or start over with: rsdump remove \(Catalogue.collection)"
        case .unconfirmedTooEarly(let id, let end, let due):
            "\(id): it would be unconfirmed from \(end.rfc3339), when the signing certificate expires; expected it to "
                + "be confirmed until the next run, \(due.rfc3339) (half of expires-after); shorten expires-after in "
                + "dumps.yaml, or renew the certificate with: rsdump keys renew DIR --signer-public-key FILE, then "
                + "run: rsdump publish --resign"
        case .noCatalogue(let file):
            "\(file): it does not name a publisher, and only a catalogue can be confirmed; write catalogue: with the "
                + "publisher's name"
        case .nothingToConfirm(let path):
            "\(path): there are no collections to confirm; publish some with rsdump publish first"
        case .sourceOfCatalogue(let id):
            "\(id): publish makes the catalogue itself, so it cannot have a source; remove the source, or catalogue: "
                + "in dumps.yaml"
        case .noSignature(let problem):
            "--sign-with: the command gave no signature: \(problem); nothing was published; run the command by itself, "
                + "with any text on its standard input"
        case .noEarlierState(let id, let current, let time):
            "\(id): there is no state before the current one, of \(current.rfc3339),"
                + (time.map { " and not later than \($0.rfc3339)," } ?? "")
                + " in the commits that lead to HEAD; rsdump log \(id) shows the states"
        case .rolledBack(let id, let earlier, let next):
            "\(id): it was rolled back before, because its records are already those of \(earlier.rfc3339); for the "
                + "state of \(next.rfc3339), give --to \(next.rfc3339)"
        case .earlierNotVouched(let id, let place, let problem):
            "\(id): \(place): expected a state with a signature of a root in dumps.yaml, but \(problem); choose "
                + "another one with --to"
        case .damaged(let id, let problem):
            "\(id): the current bundle cannot be used: \(problem); restore it with git, or check it with: rsdump verify"
        }
    }
}
