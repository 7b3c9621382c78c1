import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

// Errors about the refresh of one collection. Its last good bundle and the other collections are unchanged.
extension Failure {
    /// Converts an error thrown by a step of the refresh, and adds the advice that depends on `dumps.yaml`.
    init(ofRefresh error: any Error, of id: CollectionID? = nil) {
        self = error as? Failure ?? (error is CancellationError ? .cancelled : Failure(problem: "\(error)"))
        switch cause {
        case .rollback, .signatureLost, .equivocation:
            remedy = "to accept the server's state, first remove the bundle and its lock file entry"
        case .unknownCollection where remedy == nil:
            remedy = "correct its name in dumps.yaml, or run rsdump remove \(id.map { "\($0)" } ?? "NAME")"
        default: if code == .cancelled { place = "" }
        }
    }

    /// Returns an error for a collection that the server no longer has.
    static func gone(_ id: CollectionID) -> Self {
        Self(
            .missing, problem: "the server no longer has this collection; its bundle is kept",
            remedy: "to remove it, run rsdump remove \(id)", cause: .gone)
    }

    /// Returns a note that both the server's list and its response are older than the bundle. The bundle is kept, and
    /// this is not a failure.
    static func stale(held: Timestamp, answered: Timestamp) -> Self {
        Self(
            .rollback,
            problem: "the server's list of collections and its response are older than the bundle: expected at least "
                + "\(held) (\(held.rfc3339)), found \(answered) (\(answered.rfc3339)); a cache may be outdated",
            cause: .stale)
    }

    /// Returns an error for a state that is in the server's list but was not delivered.
    static func undelivered(listed: Timestamp, answered: Timestamp) -> Self {
        Self(
            .content,
            problem: "the server's list of collections announces the state \(listed) (\(listed.rfc3339)), but its "
                + "response is still \(answered) (\(answered.rfc3339)), the bundle's state; a cache may be outdated",
            remedy: "try again later", cause: .undelivered)
    }

    static func attachment(location: String, record: String, problem: String) -> Self {
        Self(.content, problem: "attachment \(location) of record \(record): \(problem)", cause: .attachment)
    }

    /// Returns an error for an attachment that could not be downloaded.
    static func attachment(_ wanted: WantedAttachment, _ error: Failure) -> Self {
        Self(
            .content, place: error.place,
            problem: "attachment\(error.place.isEmpty ? " \(wanted.location)" : "") of record \(wanted.record): "
                + error.problem, remedy: error.remedy, cause: .attachment)
    }

    /// Returns an error for a bundle, an attachment or all bundles together that exceed the budget in `dumps.yaml`.
    static func overBudget(_ excess: BudgetExcess) -> Self {
        Self(.refused, problem: "\(excess)", cause: .facts(.init(excess)))
    }

    /// Returns an error for a new state that violates guards.
    ///
    /// - Parameter command: the command that can accept the state once, such as `rsdump refresh`.
    package static func guarded(_ id: CollectionID, _ violations: [GuardViolation], command: String) -> Self {
        let reasons = violations.map { "it violates \($0.isDefault ? "the default guard" : "the guard") \($0)" }
        return Self(
            .refused, problem: "the new state was rejected: \(reasons.joined(separator: "; "))",
            remedy: "if the state is correct, accept it with: \(command) --accept \(id)",
            cause: .facts(.init(violations)))
    }
}

extension Failure: Encodable {
    package func encode(to encoder: any Encoder) throws {
        try encoder.encode(members: [
            "code": FailureClass(self).rawValue, "message": "\(self)", "overBudget": excess,
            "guards": violations.isEmpty ? nil : violations,
        ])
    }
}
