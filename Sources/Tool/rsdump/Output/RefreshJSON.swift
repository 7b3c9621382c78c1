import Dumps
import DumpsRefresh
import RemoteSettingsModel
import SnapshotBundle

/// A refresh's report as JSON.
enum RefreshJSON {
    /// - Parameter hooks: the result of each command of `--on-change`; `nil` if there are none.
    static func document(_ report: RefreshReport, at now: Timestamp, hooks: JSONValue? = nil) -> JSONValue {
        .members([
            "server": .string(report.server),
            "catalogue": report.catalogue.map { CatalogueText.json($0, at: now) },
            "dryRun": .bool(report.isDryRun),
            "locked": .bool(report.isLocked),
            "collections": .array(report.outcomes.map(collection)),
            "recovered": .array(report.recovered.map { .string("\($0)") }),
            "removed": .array(report.unlisted.map { .string("\($0)") }),
            "failed": .count(report.failed.count),
            "overBudget": report.excess.map(excess),
            "requests": .count(report.metrics.requests),
            "receivedBytes": .count(report.metrics.bodyBytes),
            "hooks": hooks,
            "exitCode": .count(report.exitStatus.rawValue),
        ])
    }

    private static func collection(_ outcome: CollectionOutcome) -> JSONValue {
        let hasEntry = outcome.status != .failed && outcome.status != .planned
        let counts = outcome.attachments
        return .members([
            "collection": .string("\(outcome.id)"),
            "status": .string(outcome.status.rawValue),
            "action": .string(outcome.action.word),
            "reason": outcome.action.reason.map(JSONValue.string),
            "previousTimestamp": outcome.previous.map { .count($0.milliseconds) },
            "serverTimestamp": outcome.serverTimestamp.map { .count($0.milliseconds) },
            "pin": outcome.pin.map(PinText.json),
            "entry": hasEntry ? outcome.entry.map(LockJSON.entry) : nil,
            "changes": outcome.changes.map { changes in
                .members([
                    "created": .count(changes.created), "updated": .count(changes.updated),
                    "deleted": .count(changes.deleted),
                ])
            },
            "attachments": .members([
                "reused": .count(counts.reused), "resumed": .count(counts.resumed), "fromZip": .count(counts.fromZip),
                "downloaded": .count(counts.downloaded), "downloadedBytes": .count(counts.downloadedBytes),
                "savedBytes": .count(counts.savedBytes),
            ]),
            "notes": outcome.notes.isEmpty ? nil : .array(outcome.notes.map(JSONValue.string)),
            "error": outcome.error.map { error in
                .members([
                    "code": .string(error.code), "message": .string("\(error)"),
                    "overBudget": error.excess.map(excess),
                    "guards": error.violations.isEmpty ? nil : .array(error.violations.map(GuardsText.json)),
                ])
            },
        ])
    }

    static func excess(_ excess: BudgetExcess) -> JSONValue {
        .members([
            "budget": .string(excess.subject.rawValue), "size": .count(excess.size), "limit": .count(excess.limit),
            "largest": .array(
                excess.largest.map { .members(["name": .string($0.name), "size": .count($0.size)]) }),
        ])
    }
}

/// A lock entry as JSON, with the lock's own names.
enum LockJSON {
    static func entry(_ entry: LockFile.Collection) -> JSONValue {
        guard case .object(let members) = entry.json else { return entry.json }
        // The server comes first in the lock and last here.
        return .object(Array(members.dropFirst() + members.prefix(1)))
    }
}
