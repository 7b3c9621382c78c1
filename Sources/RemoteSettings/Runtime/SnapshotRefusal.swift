import ContentSignature
import RemoteSettingsModel
import SnapshotBundle

/// Why a snapshot does not serve.
struct SnapshotRefusal: Error {
    var reason: SnapshotStatus.Unused.Reason

    init(_ reason: SnapshotStatus.Unused.Reason) {
        self.reason = reason
    }

    /// Sorts whatever a stage threw.
    init(_ error: any Error) {
        switch error {
        case let error as SnapshotRefusal: self = error
        case let error as ContentSignatureError: reason = .notTrusted("\(error)")
        default: reason = .damaged("\(error)")
        }
    }
}
