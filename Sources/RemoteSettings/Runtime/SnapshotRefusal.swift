import ContentSignature
import RemoteSettingsModel
import SnapshotBundle

/// Why a snapshot does not serve.
struct SnapshotRefusal: Error {
    let reason: SnapshotStatus.Unused.Reason
    /// Whether no configuration would accept it: the file is to be set aside.
    let isDamage: Bool

    init(_ reason: SnapshotStatus.Unused.Reason) {
        self.reason = reason
        isDamage = if case .damaged = reason { true } else { false }
    }

    /// Sorts whatever a stage threw.
    init(_ error: any Error) {
        switch error {
        case let error as SnapshotRefusal: self = error
        case let error as ContentSignatureError:
            reason = .notTrusted("\(error)")
            isDamage = !error.dependsOnConfiguration
        default:
            reason = .damaged("\(error)")
            isDamage = true
        }
    }
}

extension ContentSignatureError {
    /// Whether other pinned roots, or another signer's name, might accept what this one refuses.
    fileprivate var dependsOnConfiguration: Bool {
        switch self {
        case .untrustedRoot, .wrongSigner, .signerMismatch: true
        case .noValidSignature(_, let failures): failures.contains { $0.reason.dependsOnConfiguration }
        default: false
        }
    }
}
