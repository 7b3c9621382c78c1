import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

// Errors about the refresh of one collection. Its last good bundle and the other collections are unchanged.
extension DumpsError {
    /// Converts an error thrown by a step of the refresh.
    init(ofRefresh error: any Error, of id: CollectionID? = nil) {
        switch error {
        case let error as DumpsError: self = error
        case let error as HTTPError where error.code != .cancelled: self.init(error, id)
        default:
            let code = error.failureCode ?? .usage
            self.init(code, kind: FailureKind(of: error), problem: code == .cancelled ? "cancelled" : "\(error)")
        }
    }

    /// Creates an error for a state that could not be fetched, or was refused.
    private init(_ error: HTTPError, _ id: CollectionID?) {
        var (problem, remedy) = (error.sentence, error.remedy ?? "")
        switch error.fault {
        case .rollback, .signatureLost, .equivocation:
            remedy = "to accept the server's state, first remove the bundle and its lock file entry"
        case .unknownCollection:
            problem = "the server has no such collection (\(problem))"
            remedy = "correct its name in dumps.yaml, or run rsdump remove \(id.map { "\($0)" } ?? "NAME")"
        default: break
        }
        self.init(
            error.failureCode ?? .content, kind: FailureKind(of: error), file: error.place, problem: problem,
            remedy: remedy)
    }

    /// Returns an error for a collection that the server no longer has.
    static func gone(_ id: CollectionID) -> Self {
        Self(
            .missing, kind: .gone, problem: "the server no longer has this collection; its bundle is kept",
            remedy: "to remove it, run rsdump remove \(id)")
    }

    /// Returns a note that both the server's list and its response are older than the bundle. The bundle is kept, and
    /// this is not a failure.
    static func stale(held: Timestamp, answered: Timestamp) -> Self {
        Self(
            .rollback, kind: .stale,
            problem: "the server's list of collections and its response are older than the bundle: expected at least "
                + "\(held) (\(held.rfc3339)), found \(answered) (\(answered.rfc3339)); a cache may be outdated")
    }

    /// Returns an error for a state that is in the server's list but was not delivered.
    static func undelivered(listed: Timestamp, answered: Timestamp) -> Self {
        Self(
            .content, kind: .undelivered,
            problem: "the server's list of collections announces the state \(listed) (\(listed.rfc3339)), but its "
                + "response is still \(answered) (\(answered.rfc3339)), the bundle's state; a cache may be outdated",
            remedy: "try again later")
    }

    static func attachment(location: String, record: String, problem: String) -> Self {
        Self(.content, kind: .attachment, problem: "attachment \(location) of record \(record): \(problem)")
    }

    /// Returns an error for an attachment that could not be downloaded.
    static func attachment(_ wanted: WantedAttachment, _ error: HTTPError) -> Self {
        Self(
            .content, kind: .attachment, file: error.place,
            problem: "attachment\(error.place.isEmpty ? " \(wanted.location)" : "") of record \(wanted.record): "
                + error.sentence, remedy: error.remedy ?? "")
    }

    /// Returns an error for a malformed list of collections.
    static func malformedMonitor(_ error: FormatError, url: String) -> Self {
        Self(ofRefresh: HTTPError.changeset(error, url: url))
    }

    /// Returns an error for a bundle, an attachment or all bundles together that exceed the budget in `dumps.yaml`.
    static func overBudget(_ excess: BudgetExcess) -> Self {
        Self(.refused, kind: .budget, problem: "\(excess)", details: .excess(excess))
    }

    /// Returns an error for a new state that violates guards.
    ///
    /// - Parameter command: the command that can accept the state once, such as `rsdump refresh`.
    package static func guarded(_ id: CollectionID, _ violations: [GuardViolation], command: String) -> Self {
        let reasons = violations.map {
            "it violates \($0.isDefault ? "the default guard" : "the guard in dumps.yaml") \($0)"
        }
        return Self(
            .refused, kind: .guarded, problem: "the new state was rejected: \(reasons.joined(separator: "; "))",
            remedy: "if the state is correct, accept it with: \(command) --accept \(id)",
            details: .violations(violations))
    }
}

extension DumpsError: Encodable {
    package func encode(to encoder: any Encoder) throws {
        try encoder.encode(members: [
            "code": kind.rawValue, "message": "\(self)", "overBudget": excess,
            "guards": violations.isEmpty ? nil : violations,
        ])
    }
}
