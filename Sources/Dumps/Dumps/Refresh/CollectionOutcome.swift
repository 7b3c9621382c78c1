import RemoteSettingsModel
import SnapshotBundle

/// The result of a refresh for one collection.
package struct CollectionOutcome: Sendable {
    package enum Status: String, Hashable, Sendable {
        case unchanged
        case created
        case updated
        /// The bundle was missing or damaged, and was created again.
        case repaired
        /// The records are unchanged, but the attachments are not.
        case repacked
        /// The collection has its pinned state.
        case pinned
        case failed
        /// The refresh failed, but `dumps.yaml` acknowledges the failure. It does not fail the whole refresh.
        case acknowledged
        /// A dry run: the action states what a refresh would do.
        case planned
    }

    /// The numbers of attachments that were obtained from each source.
    package struct GatheredAttachments: Hashable, Sendable, Encodable {
        package var reused = 0
        /// The number of files downloaded earlier by an interrupted refresh.
        package var resumed = 0
        package var fromZip = 0
        package var downloaded = 0
        /// The total size of the downloaded files in bytes.
        package var downloadedBytes: UInt64 = 0
        /// The number of bytes, included in ``downloadedBytes``, that did not have to be transferred because of deltas.
        package var savedBytes: UInt64 = 0

        package init() {}
    }

    package let id: CollectionID
    package var status: Status
    package let action: PlannedCollection.Action
    package var previous: Timestamp?
    package var serverTimestamp: Timestamp?
    /// The bundle's entry in the lock file; `nil` if there is none, if the refresh failed, or if it is only planned.
    package var entry: LockFile.Collection?
    /// The differences between its records and those of the earlier bundle; `nil` if there is no earlier bundle.
    package var changes: RecordCounts?
    /// The state of its pin; `nil` if it has none.
    package var pin: PinState?
    package var attachments = GatheredAttachments()
    /// The problems that the refresh worked around.
    package var notes: [String] = []
    /// The guards that the new state violates although it was accepted.
    package var accepted: [GuardViolation] = []
    package var error: Failure?
    /// The acknowledgement of the failure; `nil` unless the status is `acknowledged`.
    package var acknowledgement: Acknowledgement?

    init(_ planned: PlannedCollection, status: Status) {
        id = planned.id
        self.status = status
        action = planned.action
        previous = planned.held?.timestamp
        serverTimestamp = planned.serverTimestamp
        entry = planned.held
    }

    /// Marks a failure as acknowledged, so that it does not fail the refresh. Adds a note if `acknowledged:` has
    /// expired, lasts too long, concerns another failure, or is no longer needed.
    mutating func acknowledge(_ known: Acknowledgement, at now: Timestamp) {
        guard status == .failed, let error else {
            if status != .planned {
                notes.append(
                    "its acknowledged failure (\(known.kind.rawValue)) no longer occurs; remove acknowledged: from "
                        + "dumps.yaml")
            }
            return
        }
        if FailureClass(error) != known.kind {
            notes.append(
                "this failure is new: \(FailureClass(error).rawValue); dumps.yaml acknowledges \(known.kind.rawValue)")
        } else if known.isOver(at: now) {
            notes.append("its failure was acknowledged only until \(Pin.dateText(known.until))")
        } else if let days = known.exceededDays(at: now) {
            let latest = Pin.dateText(now.advanced(by: .seconds(days * 86_400)))
            notes.append(
                "a \(known.kind.rawValue) failure can be acknowledged for at most \(days) days in advance; in "
                    + "dumps.yaml, write until: \(latest), or an earlier date")
        } else {
            (status, acknowledgement) = (.acknowledged, known)
        }
    }

    /// The new state and what was downloaded for it, for people.
    package var details: String {
        guard let entry else { return "" }
        var parts = ["\(entry.timestamp.rfc3339)"]
        var records = Counted.text(entry.records, "record")
        if let changes, !changes.isEmpty {
            let words = RecordChange.Kind.allCases.filter { changes[$0] > 0 }.map { "\(changes[$0]) \($0.rawValue)" }
            records += " (\(words.joined(separator: ", ")))"
        }
        parts.append(records)
        let counts = attachments
        if entry.attachments > 0 {
            let sources = [
                (counts.downloaded, "downloaded"), (counts.fromZip, "from the server's zip"), (counts.reused, "kept"),
                (counts.resumed, "from an interrupted refresh"),
            ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
            parts.append("\(Counted.text(entry.attachments, "attachment")) (\(sources))")
            if counts.savedBytes > 0 { parts.append("deltas saved \(ByteSize.text(counts.savedBytes))") }
        }
        for omission in entry.omitted {
            parts.append(
                "\(omission.count) omitted (\(omission.reason), \(ByteSize.text(UInt64(clamping: omission.bytes))))")
        }
        parts.append(ByteSize.text(UInt64(clamping: entry.bundle.size)))
        return parts.joined(separator: ", ")
    }
}

extension CollectionOutcome: Encodable {
    package func encode(to encoder: any Encoder) throws {
        try encoder.encode(members: [
            "collection": id, "status": status.rawValue, "action": action, "reason": action.reason,
            "previousTimestamp": previous, "serverTimestamp": serverTimestamp, "pin": pin, "entry": entry,
            "changes": changes, "attachments": attachments, "notes": notes, "error": error,
            "acknowledged": acknowledgement,
        ])
    }
}
