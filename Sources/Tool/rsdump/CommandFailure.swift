import ContentSigning
import Dumps
import DumpsExchange
import Publish
import RemoteSettingsHTTP
import SnapshotBundle
#if Server
import SnapshotServer
#endif

/// An error that ends a command, with a message and an exit code.
struct CommandFailure: Error, CustomStringConvertible {
    let status: ExitStatus
    let description: String

    init(_ status: ExitStatus, _ description: String) {
        self.status = status
        self.description = description
    }

    /// Wraps an error of a library, with the exit code that it has in this tool.
    init(_ error: any Error) {
        if let failure = error as? CommandFailure {
            self = failure
        } else {
            self.init(Self.status(of: error), "\(error)")
        }
    }

    private static func status(of error: any Error) -> ExitStatus {
        switch error {
        case is ConfigurationError: .usage
        #if Server
        case is ServerError: .usage
        #endif
        case let error as HTTPError:
            switch error.code {
            case .usage: .usage
            case .backoff: .backoff
            default: error.isUnavailability ? .unreachable : .someFailed
            }
        case DumpsError.emptyMonitor, DumpsError.refused: .someFailed
        case DumpsError.busy: .tryAgain
        case is DumpsError: .usage
        case let error as PinError:
            switch error {
            case .nothingHeld, .several: .usage
            case .notVouchedFor, .elsewhere, .damaged: .verificationFailed
            case .notFound, .unmet, .overdue: .someFailed
            }
        case let error as HistoryError:
            switch error {
            case .noGit, .noRepository, .noRevision, .noPlace, .invalidPath: .usage
            case .bundle(let error): error.code == .storage ? .usage : status(of: error)
            case .file(let error): status(of: error)
            case .git, .largeFile, .partialClone, .noAncestor, .overLimit: .someFailed
            }
        case is SourceProblems: .usage
        case PublishError.damaged, PublishError.notVouched, PublishError.earlierNotVouched: .verificationFailed
        case PublishError.noSignature: .someFailed
        case is PublishError: .usage
        case let error as SigningKeyError:
            switch error.code {
            case .untrusted: .verificationFailed
            case .busy: .tryAgain
            default: .usage
            }
        case MirrorError.busy: .tryAgain
        case let error as MirrorError: error.isUsage ? .usage : .someFailed
        case let error as ExchangeError: error.kind == .unverified ? .verificationFailed : .usage
        case let error as BundleError:
            switch error.code {
            case .storage where error.isOfMachine: .tryAgain
            case .storage: error.isOfSystem ? .usage : .verificationFailed
            case .content, .overLimit, .unknownVersion: .usage
            default: .verificationFailed
            }
        default: .someFailed
        }
    }
}
