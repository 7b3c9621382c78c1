import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Why a call failed. The records that were held are still available, whatever the reason.
///
/// A `reason` names the file or URL, what was expected, what was found, and what to do next.
///
/// Open: a later version may add cases, so a `switch` needs a `default`.
public enum RemoteSettingsError: Error, Hashable, Sendable {
    /// The calling task was cancelled.
    case cancelled
    /// The client or the service was shut down, or given another configuration, before the call ended.
    case closed
    /// The service has no client that is in use, so that a sync has nothing to do.
    case noClient
    /// The server could not be reached, or did not answer completely and in time.
    case offline(reason: String)
    /// The server answered with an error of its own (5xx). The device has a network.
    case unavailable(reason: String)
    /// The call took longer than its `timeout`.
    case timedOut(reason: String)
    /// ``RemoteSettingsConfig/network`` does not allow the call to use the network.
    case notAllowed(reason: String)
    /// The server asked clients to send no requests for this long.
    case backoff(Duration)
    /// The server's data is not what the pinned roots vouch for, or is older than what is held.
    case untrusted(reason: String)
    /// The app's check, or an earlier bad start, keeps the server's state out of use.
    case rejected(reason: String)
    /// A file could not be read or written.
    case storage(reason: String)
    /// No collection, publisher or attachment can have the name that was given.
    case invalidName(reason: String)
    /// What was asked for is neither stored nor packaged, and the server does not have it.
    case notHeld(reason: String)
    /// Anything else, such as an answer that is not the document that was asked for.
    case other(reason: String)
}

extension RemoteSettingsError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .cancelled: "the calling task was cancelled"
        case .closed:
            "the client or service was shut down or reconfigured during this call; stored records remain "
                + "available"
        case .noClient:
            "the service has no client, so nothing was synced; create one with makeClient(collectionName:), and keep "
                + "a reference to it"
        case .backoff(let pause): "the server asked clients to wait; try again in \(pause.components.seconds) s"
        case .offline(let reason), .unavailable(let reason), .timedOut(let reason), .notAllowed(let reason),
            .untrusted(let reason), .rejected(let reason), .storage(let reason), .invalidName(let reason),
            .notHeld(let reason), .other(let reason):
            reason
        }
    }
}

extension RemoteSettingsError: LocalizedError {
    public var errorDescription: String? { description }
}

extension RemoteSettingsError {
    /// The public error for an error of any layer.
    package init(_ error: any Error) {
        switch error {
        case let error as RemoteSettingsError: self = error
        case let error as any CodedError: self.init(error.code, "\(error)")
        case is CancellationError: self = .cancelled
        default: self = .other(reason: "\(error)")
        }
    }

    private init(_ code: FailureCode, _ reason: String) {
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
        case .missing: self = .notHeld(reason: reason)
        case .usage, .busy, .malformed, .unknownVersion, .damaged, .overLimit, .redirect, .status, .content, .program:
            self = .other(reason: reason)
        }
    }
}
