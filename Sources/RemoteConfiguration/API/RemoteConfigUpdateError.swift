#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The domain of ``RemoteConfigUpdateError`` where it is bridged to `NSError`, as in Firebase.
public let RemoteConfigUpdateErrorDomain = "com.google.remoteconfig.update.ErrorDomain"

/// Why listeners do not hear of what is published. Fetches work as before.
public enum RemoteConfigUpdateError: Error, Hashable, Sendable {
    /// The connection to the update channel cannot be had for a longer time: seven tries have failed.
    case streamError(reason: String)
    /// Something newer was announced, and several syncs did not bring it.
    case notFetched(reason: String)
    /// An announcement cannot be read.
    case messageInvalid(reason: String)
    /// The server has no update channel, or has switched it off.
    case unavailable(reason: String)
}

extension RemoteConfigUpdateError {
    /// Firebase's code: 8001 for ``streamError(reason:)``, 8002 for ``notFetched(reason:)``, 8003 for
    /// ``messageInvalid(reason:)``, 8004 for ``unavailable(reason:)``.
    public var errorCode: Int {
        switch self {
        case .streamError: 8001
        case .notFetched: 8002
        case .messageInvalid: 8003
        case .unavailable: 8004
        }
    }
}

extension RemoteConfigUpdateError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .streamError(let reason), .notFetched(let reason), .messageInvalid(let reason), .unavailable(let reason):
            reason
        }
    }
}

extension RemoteConfigUpdateError: LocalizedError {
    public var errorDescription: String? { description }
}

#if canImport(Darwin)
    extension RemoteConfigUpdateError: CustomNSError {
        public static var errorDomain: String { RemoteConfigUpdateErrorDomain }
        public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: description] }
    }
#endif
