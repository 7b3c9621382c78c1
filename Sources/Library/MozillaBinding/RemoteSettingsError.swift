import RemoteSettings

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The reason that a call failed, with the cases of Mozilla's Swift binding. `RemoteSettings.RemoteSettingsError` is
/// more detailed.
///
/// Closed: no version adds a case.
public enum RemoteSettingsError: Error, Hashable, Sendable {
    /// The server could not be reached or is not available.
    case Network(reason: String)
    /// The server asked clients to send no requests for this many seconds.
    case Backoff(seconds: UInt64)
    /// Any other failure. The reason suggests what to do.
    case Other(reason: String)

    init(_ error: RemoteSettings.RemoteSettingsError) {
        switch error {
        case .offline(let reason): self = .Network(reason: reason)
        case .backoff(let pause): self = .Backoff(seconds: UInt64(clamping: pause.components.seconds))
        default: self = .Other(reason: "\(error)")
        }
    }
}

extension RemoteSettingsError: CustomStringConvertible, LocalizedError {
    public var description: String {
        switch self {
        case .Network(let reason), .Other(let reason): reason
        case .Backoff(let seconds): "the server asked clients to wait; try again in \(seconds) s"
        }
    }

    public var errorDescription: String? { description }
}
