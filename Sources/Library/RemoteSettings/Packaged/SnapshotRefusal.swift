import RemoteSettingsModel
import SnapshotBundle

/// The reason that a snapshot is not used.
struct SnapshotRefusal: Error {
    let reason: CollectionStatus.Rejected.Reason

    init(_ reason: CollectionStatus.Rejected.Reason) { self.reason = reason }

    /// Creates the refusal for an error during reading or verification.
    init(_ error: any Error) {
        switch error {
        case let error as SnapshotRefusal: self = error
        case let error as BundleError where error == .notAccepted: reason = .unsigned
        case let error as BundleError where error == .signatureLost: reason = .signatureLost
        case let error as BundleError where error.code == .untrusted || error.code == .certificate:
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
