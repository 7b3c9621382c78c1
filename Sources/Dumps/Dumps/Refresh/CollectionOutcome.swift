import RemoteSettingsModel
import SnapshotBundle

/// The result of a refresh for one collection.
package struct CollectionOutcome: Sendable {
    package enum Status: String, Hashable, Sendable {
        case unchanged
        case created
        case updated
        /// The bundle was missing or damaged, and has been made again.
        case repaired
        /// The records are the same; the attachments are not.
        case repacked
        /// It stays at its pinned state.
        case pinned
        case failed
        /// It failed, and `dumps.yaml` says that this is known. It does not fail the refresh.
        case acknowledged
        /// A dry run: the action says what a refresh would do.
        case planned
    }

    /// How many attachments of the bundle came from each source.
    package struct GatheredAttachments: Hashable, Sendable, Encodable {
        package var reused = 0
        /// Files that an interrupted refresh had downloaded.
        package var resumed = 0
        package var fromZip = 0
        package var downloaded = 0
        /// The sizes of the downloaded files.
        package var downloadedBytes: UInt64 = 0
        /// The part of ``downloadedBytes`` that deltas to the bundle's attachments saved.
        package var savedBytes: UInt64 = 0

        package init() {}
    }

    package let id: CollectionID
    package var status: Status
    package let action: PlannedCollection.Action
    package var previous: Timestamp?
    package var serverTimestamp: Timestamp?
    /// The lock entry of its bundle; `nil` if there is none, if it failed, or if it is only planned.
    package var entry: LockFile.Collection?
    /// How its records differ from those of the earlier bundle; `nil` if there is none.
    package var changes: RecordCounts?
    /// The state of its pin; `nil` if it has none.
    package var pin: PinState?
    package var attachments = GatheredAttachments()
    /// The problems that the refresh worked around.
    package var notes: [String] = []
    /// The guards that its new state violates although it was accepted.
    package var accepted: [GuardViolation] = []
    package var error: DumpsError?
    /// The known failure that it was acknowledged as; `nil` unless the status says so.
    package var acknowledgement: Acknowledgement?

    init(_ planned: PlannedCollection, status: Status) {
        id = planned.id
        self.status = status
        action = planned.action
        previous = planned.held?.timestamp
        serverTimestamp = planned.serverTimestamp
        entry = planned.held
    }
}

extension CollectionOutcome {
    /// Turns a failure that is known into one that does not fail the refresh. A note says if `acknowledged:` is over,
    /// is of another failure, or has no more use.
    mutating func acknowledge(_ known: Acknowledgement, at now: Timestamp) {
        guard status == .failed, let error else {
            if status != .planned {
                notes.append(
                    "its acknowledged failure (\(known.kind.rawValue)) no longer occurs; remove acknowledged: from "
                        + "dumps.yaml")
            }
            return
        }
        if error.kind != known.kind {
            notes.append("this failure is new: \(error.kind.rawValue); dumps.yaml acknowledges \(known.kind.rawValue)")
        } else if known.isOver(at: now) {
            notes.append("its failure was acknowledged until \(Pin.dateText(known.until))")
        } else {
            (status, acknowledgement) = (.acknowledged, known)
        }
    }
}

extension [CollectionOutcome] {
    /// Acknowledges the collections that failed only because a catalogue is not whole without those acknowledged.
    mutating func acknowledgeFollowers() {
        let known = Dictionary(
            compactMap { outcome in outcome.acknowledgement.map { (outcome.id, $0) } }, uniquingKeysWith: { $1 })
        for index in indices where self[index].status == .failed {
            guard let causes = self[index].error?.causes, let first = causes.first,
                causes.allSatisfy({ known[$0] != nil })
            else { continue }
            self[index].status = .acknowledged
            self[index].acknowledgement = known[first]
        }
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
