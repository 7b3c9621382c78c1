import RemoteSettingsModel

/// The exit codes of the tool and its jobs.
package enum ExitStatus: Int32, Sendable {
    case done = 0
    case someFailed = 1
    case usage = 2
    case verificationFailed = 3
    case backoff = 4
    case unreachable = 5
    case wouldChange = 6
    case tryAgain = 7

    /// Creates the exit code for a failure.
    package init(_ failure: Failure) {
        self =
            switch failure.code {
            // A path of the wrong kind, or a missing or truncated file, is not a failure of this machine's storage.
            case .storage where !failure.isOfMachine: failure.isOfSystem ? .usage : .verificationFailed
            // A response that is not a changeset is no evidence that the bundles are damaged.
            case _ where failure.cause == .changeset: .someFailed
            case .usage, .invalidName, .unknownVersion, .overLimit: .usage
            case .malformed, .damaged, .untrusted, .certificate: .verificationFailed
            case .backoff: .backoff
            case .unreachable, .tls, .broken, .timeout, .status(500...599): .unreachable
            case .busy, .storage: .tryAgain
            case .missing, .rollback, .refused, .redirect, .status, .content, .program, .cancelled, .closed: .someFailed
            }
    }
}
