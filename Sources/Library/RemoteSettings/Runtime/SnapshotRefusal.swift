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
        case let error as ContentSignatureError: reason = .notTrusted("\(error)")
        case CatalogueError.otherPublisher(let found, let expected):
            reason = .otherPublisher(found: "\(found)", expected: "\(expected)")
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
