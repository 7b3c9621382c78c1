import RemoteSettingsModel
import SnapshotBundle

/// Why a snapshot is not used.
struct SnapshotRefusal: Error {
    let reason: CollectionStatus.Rejected.Reason

    init(_ reason: CollectionStatus.Rejected.Reason) { self.reason = reason }

    /// Makes the refusal for an error of reading or verifying.
    init(_ error: any Error) {
        switch error {
        case let error as SnapshotRefusal: self = error
        case let error as BundleError where error.code == .untrusted || error.code == .certificate:
            reason = .notTrusted("\(error)")
        default: reason = .damaged("\(error)")
        }
    }

    /// Whether the snapshot itself was read and refused, and not merely passed over.
    var isOfContent: Bool {
        switch reason {
        case .damaged, .notTrusted: true
        default: false
        }
    }
}
