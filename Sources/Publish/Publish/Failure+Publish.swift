import Dumps
import RemoteSettingsModel
import SnapshotBundle

// Errors of publishing. Each comment states the problem that the error reports.
extension Failure {
    /// The current timestamp is so far ahead of the clock that apps would refuse the next one.
    package static func clockBehind(_ id: CollectionID, present: Timestamp, time: Timestamp) -> Self {
        Self(
            place: "\(id)",
            problem:
                "this machine's clock (\(time.rfc3339)) is more than a day behind the timestamp of the current state "
                + "(\(present.rfc3339))",
            remedy: "correct the clock, or restore the dumps directory from an earlier commit with git, then publish "
                + "again")
    }

    /// The requested time is not later than the current timestamp.
    package static func notLater(_ id: CollectionID, present: Timestamp, time: Timestamp) -> Self {
        Self(
            place: "\(id)",
            problem: "--at \(time.rfc3339) is not later than the timestamp of the current state, \(present.rfc3339)",
            remedy: "give a later time")
    }

    /// The current bundle is damaged or differs from its entry in the lock file.
    package static func damaged(_ id: CollectionID, _ error: any Error) -> Self {
        var cause = error as? Failure ?? Self(problem: "\(error)")
        cause.remedy = nil
        return Self(
            .damaged, place: "\(id)", problem: "the current bundle cannot be used: \(cause)",
            remedy: "restore it with git, or check it with: rsdump verify")
    }

    /// The state that is to be signed again does not verify against a configured root.
    package static func notVouched(_ id: CollectionID, _ problem: String) -> Self {
        Self(
            .untrusted, place: "\(id)",
            problem: "it has no valid signature from a root in dumps.yaml: \(problem)",
            remedy: "publish it from its source, or remove it with: rsdump remove \(id)")
    }

    /// `dumps.yaml` pins a collection whose source has changed.
    static func pinned(_ id: CollectionID) -> Self {
        Self(
            .refused, place: "\(id)",
            problem: "dumps.yaml pins this collection, so its changed source was not published",
            remedy: "to publish it, run rsdump pin \(id) --remove", cause: .pin)
    }

    /// The command of `publish --sign-with` returned no signature. The error does not quote its output, which may
    /// contain a PIN.
    package static func noSignature(_ problem: String) -> Self {
        Self(
            .program, place: "--sign-with",
            problem: "the command did not return a signature: \(problem); nothing was published",
            remedy: "test the command by itself, with any text on its standard input")
    }

    /// There is no earlier state to roll back to.
    ///
    /// - Parameter gap: the reason that older commits are missing, and the remedy.
    package static func noEarlierState(_ id: CollectionID, current: Timestamp, time: Timestamp?, gap: String?) -> Self {
        Self(
            place: "\(id)",
            problem: "the history of HEAD has no state before the current one (\(current.rfc3339))"
                + (time.map { " that is not later than \($0.rfc3339)" } ?? ""),
            remedy: gap ?? "list the states with: rsdump log \(id)")
    }

    /// The current state has the same records as an earlier one, so it was already rolled back.
    package static func rolledBack(_ id: CollectionID, to earlier: Timestamp, next: Timestamp) -> Self {
        Self(
            place: "\(id)",
            problem: "it has already been rolled back: its records are those of \(earlier.rfc3339)",
            remedy: "to undo the rollback, give --to \(next.rfc3339); to go back further, give an earlier time")
    }

    /// The earlier state does not verify against a configured root.
    package static func earlierNotVouched(_ id: CollectionID, place: String, problem: String) -> Self {
        Self(
            .untrusted, place: "\(id)", entry: place,
            problem: "this state does not verify against a root in dumps.yaml: \(problem)",
            remedy: "choose a different state with --to")
    }
}
