import RemoteSettingsModel

extension UptakeEvent.Status {
    /// Creates the telemetry status of an error.
    ///
    /// - Parameter wasRetried: whether the error is from a second attempt, after a first one that failed.
    init(_ error: any Error, wasRetried: Bool = false) {
        switch error {
        case let error as Failure: self.init(error.code, wasRetried: wasRetried)
        case let error as RemoteSettingsError:
            switch error {
            case .offline: self = .networkError
            case .unavailable: self = .serverError
            case .timedOut: self = .timeoutError
            case .backoff: self = .backoff
            case .closed, .cancelled: self = .shutdownError
            case .rejected: self = .rejectedError
            case .untrusted: self = .signError
            case .storage: self = .applyError
            case .noClient, .notAllowed, .invalidName, .notFound, .other: self = .unknownError
            }
        case is CancellationError: self = .shutdownError
        default: self = .unknownError
        }
    }

    private init(_ code: Failure.Code, wasRetried: Bool) {
        switch code {
        case .cancelled, .closed: self = .shutdownError
        case .backoff: self = .backoff
        case .timeout: self = .timeoutError
        case .usage, .unreachable, .broken: self = .networkError
        case .status, .redirect, .missing: self = .serverError
        case .tls, .certificate: self = .certificateError
        case .untrusted: self = wasRetried ? .signRetryError : .signError
        case .rollback: self = .syncError
        case .refused: self = .rejectedError
        case .malformed, .overLimit, .unknownVersion: self = .parseError
        case .content, .damaged: self = .contentError
        case .storage: self = .applyError
        case .busy, .invalidName, .program: self = .unknownError
        }
    }

    /// Whether an error with this status is recorded as a failed sync. A cancelled sync is not, nor one that did not
    /// start because of a backoff.
    var isFailure: Bool { self != .shutdownError && self != .backoff }
}
