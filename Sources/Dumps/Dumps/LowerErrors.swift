import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

extension Error {
    /// What callers tell apart about this error; `nil` for errors of other packages.
    package var failureCode: FailureCode? {
        switch self as any Error {
        case let error as any CodedError: error.code
        case let error as HTTPError: FailureCode(error.code)
        case let error as FetchError:
            switch error {
            case .http(let error), .unknownCollection(let error): FailureCode(error.code)
            case .changeset, .noAnswer, .equivocation: .content
            case .signature, .cutShort, .signatureLost: .untrusted
            case .rollback, .future: .rollback
            }
        case let error as FileError:
            error.isWrongKind || error.isMissing ? .usage : error.isOfSource ? .usage : .storage
        case let error as BundleError:
            switch error.kind {
            case .unwritable: .storage
            case .malformed, .malformedLock, .pointer: .malformed
            case .unknownVersion: .unknownVersion
            case .overLimit: .overLimit
            case .wrongSource: .usage
            case .unreadable, .damaged, .disagreement, .missing: .damaged
            }
        case is ContentSignatureError: .untrusted
        case is CatalogueError, is ChangesetError: .content
        case is CancellationError: .cancelled
        default: nil
        }
    }
}

extension FailureCode {
    fileprivate init(_ code: HTTPError.Code) {
        self =
            switch code {
            case .usage: .usage
            case .unreachable: .unreachable
            case .timeout: .timeout
            case .tls: .tls
            case .broken, .notHTTP: .broken
            case .status(let status): .status(status)
            case .redirect, .content: .content
            case .backoff(let until, let seconds): .backoff(until: until, seconds: seconds)
            case .cancelled: .cancelled
            }
    }
}
