#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The domain of ``RemoteConfigUpdateError`` if it is bridged to `NSError`, as in Firebase.
public let RemoteConfigUpdateErrorDomain = "com.google.remoteconfig.update.ErrorDomain"

/// Why listeners are not told about published values. Fetches still work.
///
/// Closed: no version adds a case.
public enum RemoteConfigUpdateError: Error, Hashable, Sendable {
    /// The update channel could not be reached in more than eleven attempts.
    case streamError(reason: String)
    /// Something newer was announced, but several syncs did not bring it.
    case notFetched(reason: String)
    /// An announcement cannot be read.
    case messageInvalid(reason: String)
    /// The server has no update channel, or has switched it off.
    case unavailable(reason: String)
}

extension RemoteConfigUpdateError {
    /// Firebase's codes.
    ///
    /// Closed: no version adds a case.
    public enum Code: Int, Hashable, Sendable, CaseIterable {
        /// The update channel could not be reached.
        case streamError = 8001
        /// The announced state did not arrive.
        case notFetched = 8002
        /// An announcement cannot be read.
        case messageInvalid = 8003
        /// There is no update channel.
        case unavailable = 8004
    }

    /// The Firebase error that this error corresponds to.
    public var code: Code {
        switch self {
        case .streamError: .streamError
        case .notFetched: .notFetched
        case .messageInvalid: .messageInvalid
        case .unavailable: .unavailable
        }
    }

    /// The number of ``code``.
    public var errorCode: Int { code.rawValue }

    /// ``Code/streamError``, by its Firebase name.
    public static var streamError: Code { .streamError }
    /// ``Code/notFetched``, by its Firebase name.
    public static var notFetched: Code { .notFetched }
    /// ``Code/messageInvalid``, by its Firebase name.
    public static var messageInvalid: Code { .messageInvalid }
    /// ``Code/unavailable``, by its Firebase name.
    public static var unavailable: Code { .unavailable }

    /// The error domain for `NSError`.
    public static var errorDomain: String { RemoteConfigUpdateErrorDomain }
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
    public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: description] }
}
#endif
