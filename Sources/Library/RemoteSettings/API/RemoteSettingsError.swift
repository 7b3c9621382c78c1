import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The reason that a call failed. The current records remain available in all cases.
///
/// The string in `reason` names the file or URL, describes the problem and suggests what to do.
@nonexhaustive public enum RemoteSettingsError: Error, Hashable, Sendable {
    /// The calling task was cancelled.
    case cancelled
    /// The client or the service was shut down, or the configuration was replaced, before the call finished.
    case closed
    /// No client of the service is in use, so there is nothing to sync.
    case noClient
    /// The server could not be reached, or did not answer completely and in time.
    case offline(reason: String)
    /// The server answered with an error (5xx). The device is online.
    case unavailable(reason: String)
    /// The call's `timeout` expired.
    case timedOut(reason: String)
    /// ``RemoteSettingsConfig/network`` does not allow the call to use the network.
    case notAllowed(reason: String)
    /// The server asked clients to send no requests for this duration (`Backoff` or `Retry-After`).
    case backoff(Duration)
    /// The server's data does not verify against the pinned roots, or is older than the current state.
    case untrusted(reason: String)
    /// The server's state passed verification, but was rejected: by ``RemoteSettingsConfig/validate``, because the app
    /// called `rejectState()`, or because the app repeatedly failed to start with it.
    case rejected(reason: String)
    /// A file could not be read or written.
    case storage(reason: String)
    /// The given name is not valid for a collection or attachment.
    case invalidName(reason: String)
    /// The requested data is neither stored nor packaged, and the server does not have it.
    case notFound(reason: String)
    /// Any other failure, such as a response with unexpected content.
    case other(reason: String)
}

extension RemoteSettingsError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .cancelled: "the calling task was cancelled"
        case .closed:
            "the client or service was shut down or reconfigured during this call; stored records remain available"
        case .noClient:
            "the service has no client, so nothing was synced; create one with makeClient(collectionName:), and keep "
                + "a reference to it"
        case .backoff(let pause): "the server asked clients to wait; try again in \(pause.components.seconds) s"
        case .offline(let reason), .unavailable(let reason), .timedOut(let reason), .notAllowed(let reason),
            .untrusted(let reason), .rejected(let reason), .storage(let reason), .invalidName(let reason),
            .notFound(let reason), .other(let reason):
            reason
        }
    }
}

extension RemoteSettingsError: LocalizedError {
    public var errorDescription: String? { description }
}

extension RemoteSettingsError {
    /// Converts an error of any layer to a public error.
    package init(_ error: any Error) {
        switch error {
        case let error as RemoteSettingsError: self = error
        case let error as Failure: self.init(error.code, "\(error)")
        case is CancellationError: self = .cancelled
        default: self = .other(reason: "\(error)")
        }
    }

    private init(_ code: Failure.Code, _ reason: String) {
        switch code {
        case .cancelled: self = .cancelled
        case .closed: self = .closed
        case .backoff(_, let seconds): self = .backoff(.seconds(max(seconds, 0)))
        case .unreachable, .timeout, .tls, .broken: self = .offline(reason: reason)
        case .status(500...599): self = .unavailable(reason: reason)
        case .untrusted, .certificate, .rollback: self = .untrusted(reason: reason)
        case .refused: self = .rejected(reason: reason)
        case .storage: self = .storage(reason: reason)
        case .invalidName: self = .invalidName(reason: reason)
        case .missing: self = .notFound(reason: reason)
        case .usage, .busy, .malformed, .unknownVersion, .damaged, .overLimit, .redirect, .status, .content, .program:
            self = .other(reason: reason)
        }
    }
}
