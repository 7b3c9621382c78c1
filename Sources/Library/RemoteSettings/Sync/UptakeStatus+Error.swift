import RemoteSettingsHTTP
import SnapshotBundle

extension UptakeEvent.Status {
    /// The telemetry status of an error.
    ///
    /// - Parameter wasRetried: whether the error ended a second attempt, after a first one that failed.
    init(_ error: any Error, wasRetried: Bool = false) {
        switch error {
        case FetchError.signature(let error) where wasRetried && !error.concernsChain: self = .signRetryError
        case let error as FetchError: self.init(fetch: error)
        case let error as HTTPError: self.init(http: error)
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
            case .noClient, .notAllowed, .invalidName, .notHeld, .other: self = .unknownError
            }
        case is CatalogueSyncError, is CatalogueError: self = .syncError
        case is FileError: self = .applyError
        case is CancellationError: self = .shutdownError
        default: self = .unknownError
        }
    }

    /// Whether an error of this status is a failure. It is not one if the caller or the server has stopped the sync.
    var isFailure: Bool { self != .shutdownError && self != .backoff }

    private init(fetch error: FetchError) {
        switch error {
        case .http(let error), .unknownCollection(let error): self.init(http: error)
        case .changeset(.json, _): self = .parseError
        case .changeset, .noAnswer: self = .contentError
        case .signature(let error): self = error.concernsChain ? .certificateError : .signError
        case .rollback, .future, .equivocation: self = .syncError
        case .signatureLost, .cutShort: self = .signError
        }
    }

    private init(http error: HTTPError) {
        switch error.code {
        case .backoff: self = .backoff
        case .timeout: self = .timeoutError
        case .status, .redirect: self = .serverError
        case .cancelled: self = .shutdownError
        case .tls: self = .certificateError
        case .content: self = .contentError
        case .usage, .unreachable, .broken, .notHTTP: self = .networkError
        }
    }
}

extension HTTPError {
    /// The status of the server's answer, if that is why a request or a fetch failed.
    static func status(_ error: any Error) -> Int? {
        switch error {
        case let error as HTTPError: error.status
        case FetchError.http(let error), FetchError.unknownCollection(let error): error.status
        default: nil
        }
    }
}

extension ContentSignatureError {
    /// Whether a certificate chain failed, rather than a signature.
    fileprivate var concernsChain: Bool {
        switch self {
        case .noValidSignature(_, let failures): failures.contains { $0.reason.concernsChain }
        case .malformedBase64, .wrongSignatureLength, .signatureOutOfRange, .signatureMismatch, .noSignatures,
            .noChains, .tooManySignatures, .onlyUnknownModes, .newerThanVerification:
            false
        default: true
        }
    }
}
