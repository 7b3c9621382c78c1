#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The error domain of ``RemoteConfigUpdateError`` when it is bridged to `NSError`, as in Firebase.
public let RemoteConfigUpdateErrorDomain = "com.google.remoteconfig.update.ErrorDomain"

/// The reason that published values are not announced to listeners. Fetches still work.
///
/// Closed: no version adds a case.
public enum RemoteConfigUpdateError: Error, Hashable, Sendable {
    /// More than eleven consecutive connections to the update channel failed.
    case streamError(reason: String)
    /// New values were announced, but several syncs did not find them.
    case notFetched(reason: String)
    /// An announcement cannot be parsed.
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
        /// The announced state could not be fetched.
        case notFetched = 8002
        /// An announcement cannot be parsed.
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

    /// The raw value of ``code``.
    public var errorCode: Int { code.rawValue }

    /// The code ``Code/streamError``, under its Firebase name.
    public static var streamError: Code { .streamError }
    /// The code ``Code/notFetched``, under its Firebase name.
    public static var notFetched: Code { .notFetched }
    /// The code ``Code/messageInvalid``, under its Firebase name.
    public static var messageInvalid: Code { .messageInvalid }
    /// The code ``Code/unavailable``, under its Firebase name.
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
