import RemoteSettingsModel
import SnapshotBundle
import SnapshotTrust

/// Why a snapshot is not used.
struct SnapshotRefusal: Error {
    let reason: SnapshotStatus.Unused.Reason
    /// Whether no configuration would accept it. A cache file is then set aside.
    let isDamage: Bool

    init(_ reason: SnapshotStatus.Unused.Reason) {
        self.reason = reason
        isDamage = if case .damaged = reason { true } else { false }
    }

    /// Whether the snapshot itself was looked at and refused, and not merely passed over.
    var isOfContent: Bool {
        switch reason {
        case .damaged, .notTrusted: true
        default: false
        }
    }

    /// Makes the refusal for an error of reading or verifying.
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
    /// Whether a configuration with other roots, or with another signer's name, might accept the signature.
    fileprivate var dependsOnConfiguration: Bool {
        switch self {
        case .untrustedRoot, .wrongSigner, .signerMismatch: true
        case .noValidSignature(_, let failures): failures.contains { $0.reason.dependsOnConfiguration }
        default: false
        }
    }
}
