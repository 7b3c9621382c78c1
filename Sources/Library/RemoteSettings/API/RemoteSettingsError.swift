import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
import SnapshotTrust

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Why a call failed. The cases are named as in Mozilla's Swift binding.
///
/// The records that were held are still available, whatever the reason.
public enum RemoteSettingsError: Error, Hashable, Sendable {
    /// The server could not be reached or is not available (502, 503, 504), or its answer did not arrive completely.
    case Network(reason: String)
    /// The server asked clients to send no requests for this many seconds.
    case Backoff(seconds: UInt64)
    /// Anything else. The reason names the file or URL, what was expected, what was found, and what to do next.
    case Other(reason: String)
}

extension RemoteSettingsError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .Network(let reason), .Other(let reason): reason
        case .Backoff(let seconds): "the server asked to wait; try again in \(seconds) s"
        }
    }
}

extension RemoteSettingsError: LocalizedError {
    public var errorDescription: String? { description }
}

extension RemoteSettingsError {
    /// The public error for an error of any layer.
    init(_ error: any Error) {
        switch error {
        case let error as RemoteSettingsError: self = error
        case let error as HTTPError: self.init(http: error)
        case .http(let error) as FetchError: self.init(http: error)
        case is CancellationError: self = .Other(reason: "cancelled")
        default: self = .Other(reason: "\(error)")
        }
    }

    private init(http error: HTTPError) {
        switch error.reason {
        case .backoff(_, let seconds): self = .Backoff(seconds: UInt64(clamping: seconds))
        case _ where error.isNetworkFailure: self = .Network(reason: "\(error)")
        default: self = .Other(reason: "\(error)")
        }
    }
}
