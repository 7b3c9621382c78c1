import RemoteSettingsModel
import SnapshotBundle

/// The reason that a snapshot is not used.
struct SnapshotRefusal: Error {
    let reason: CollectionStatus.Unused.Reason

    init(_ reason: CollectionStatus.Unused.Reason) { self.reason = reason }

    /// Creates the refusal for an error during reading or verification.
    init(_ error: any Error) {
        switch error {
        case let error as SnapshotRefusal: self = error
        case let error as Failure where error.cause == .unsigned: reason = .unsigned
        case let error as Failure where error.cause == .signatureLost: reason = .signatureLost
        case let error as Failure where error.isOfTrust:
            reason = .notTrusted("\(error)")
        default: reason = .damaged("\(error)")
        }
    }

    /// Whether the snapshot was read and cannot be used, and was not merely skipped.
    var isOfContent: Bool {
        switch reason {
        case .damaged, .notTrusted, .unsigned, .signatureLost, .otherServer: true
        default: false
        }
    }
}
