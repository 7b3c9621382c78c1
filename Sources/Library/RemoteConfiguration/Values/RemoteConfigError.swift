import RemoteSettings
import RemoteSettingsModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The error domain of ``RemoteConfigError`` when it is bridged to `NSError`, as in Firebase.
public let RemoteConfigErrorDomain = "com.google.remoteconfig.ErrorDomain"
/// The `userInfo` key under which an `NSError` contains ``RemoteConfigError/throttledUntil``, in seconds since 1970, as
/// in Firebase.
public let RemoteConfigThrottledEndTimeInSecondsKey = "error_throttled_end_time_seconds"

/// The reason that a call of ``RemoteConfig`` failed. Values can still be read as before.
@nonexhaustive public enum RemoteConfigError: Error, Hashable, Sendable {
    /// No request is made before `until`.
    ///
    /// The server has requested a backoff or has failed, or the app has already made all requests that
    /// ``RemoteConfigSettings/fetchesPerHour`` allows.
    case paused(until: RemoteSettingsTimestamp, reason: String)
    /// The fetch did not finish within ``RemoteConfigSettings/fetchTimeout``.
    case timeout(Duration)
    /// The server could not be reached, or its response was refused.
    case fetchFailed(reason: String)
    /// The collection contains a record that is not a parameter. The reason names the record.
    case notParameters(reason: String)
    /// The values were verified but not activated: they were rejected by the app's check or by the app itself, or
    /// starts with them failed.
    case rejected(reason: String)
    /// The change could not be stored, or there is no state to reject or to roll back to.
    case storage(reason: String)
    /// The defaults could not be read, or contain a value that is not supported.
    case invalidDefaults(reason: String)
    /// The task was cancelled. Nothing has changed.
    case cancelled
}

extension RemoteConfigError {
    /// Firebase's codes.
    ///
    /// Closed: no version adds a case.
    public enum Code: Int, Hashable, Sendable, CaseIterable {
        /// The task was cancelled.
        case unknown = 8001
        /// No request was made because of a backoff or a limit.
        case throttled = 8002
        /// The request failed, or its result cannot be used or stored.
        case internalError = 8003
    }

    /// The Firebase error that this error corresponds to.
    ///
    /// Firebase's header uses `internalError` for a failed request, regardless of the HTTP status. Here it also covers
    /// all failures on this device. `unknown` means that the task was cancelled.
    public var code: Code {
        switch self {
        case .paused: .throttled
        case .timeout, .fetchFailed, .storage, .notParameters, .rejected, .invalidDefaults: .internalError
        case .cancelled: .unknown
        }
    }

    /// The error domain for `NSError`.
    public static var errorDomain: String { RemoteConfigErrorDomain }

    /// The raw value of ``code``.
    public var errorCode: Int { code.rawValue }

    /// The code ``Code/unknown``, under its Firebase name.
    public static var unknown: Code { .unknown }
    /// The code ``Code/throttled``, under its Firebase name.
    public static var throttled: Code { .throttled }
    /// The code ``Code/internalError``, under its Firebase name.
    public static var internalError: Code { .internalError }

    /// The earliest time of the next request; `nil` for errors other than ``paused(until:reason:)``.
    public var throttledUntil: RemoteSettingsTimestamp? {
        if case .paused(let until, _) = self { until } else { nil }
    }

    init(_ error: any Error) {
        switch error {
        case let error as RemoteConfigError: self = error
        case is CancellationError: self = .cancelled
        default: self = .storage(reason: "\(error)")
        }
    }
}

extension RemoteConfigError.Code {
    /// Makes `catch RemoteConfigError.throttled` match all errors with this code.
    public static func ~= (code: RemoteConfigError.Code, error: any Error) -> Bool {
        (error as? RemoteConfigError)?.code == code
    }
}

extension RemoteConfigError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .paused(let until, let reason):
            "no requests until \(until.rfc3339), because \(reason); fetch again after that"
        case .timeout(let time):
            "the fetch did not finish within \(time) (RemoteConfigSettings.fetchTimeout)"
        case .fetchFailed(let reason), .notParameters(let reason), .rejected(let reason), .storage(let reason),
            .invalidDefaults(let reason):
            reason
        case .cancelled: "the task was cancelled"
        }
    }
}

extension RemoteConfigError: LocalizedError {
    public var errorDescription: String? { description }
}

/// The reason that custom signals were refused. None of the call's signals was set.
///
/// Closed: no version adds a case.
public enum RemoteConfigCustomSignalsError: Error, Hashable, Sendable {
    /// The signals could not be stored.
    case unknown(reason: String)
    /// A number is not finite.
    case invalidValueType(key: String)
    /// A key, a string or the number of signals exceeds its limit.
    case limitExceeded(reason: String)

    /// Firebase's code: 8101, 8102 or 8103.
    public var errorCode: Int {
        switch self {
        case .unknown: 8101
        case .invalidValueType: 8102
        case .limitExceeded: 8103
        }
    }
}

extension RemoteConfigCustomSignalsError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unknown(let reason): "the signals were not stored: \(reason)"
        case .invalidValueType(let key):
            "the signal \(key) is not a finite number; use a string, an integer or a finite number"
        case .limitExceeded(let reason): reason
        }
    }
}

extension RemoteConfigCustomSignalsError: LocalizedError {
    public var errorDescription: String? { description }
}

#if canImport(Darwin)
extension RemoteConfigError: CustomNSError {
    public var errorUserInfo: [String: Any] {
        var info: [String: Any] = [NSLocalizedDescriptionKey: description]
        info[RemoteConfigThrottledEndTimeInSecondsKey] = throttledUntil?.date.timeIntervalSince1970
        return info
    }
}

extension RemoteConfigCustomSignalsError: CustomNSError {
    public static var errorDomain: String { "com.google.remoteconfig.customsignals.ErrorDomain" }
    public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: description] }
}
#endif

extension Duration {
    /// Converts seconds to a duration, clamped to the range from 0 to a thousand years. NaN becomes 0.
    static func interval(_ seconds: Double) -> Duration {
        .milliseconds(Int64(max(0, min(seconds.isNaN ? 0 : seconds, 31_536_000_000)) * 1000))
    }
}
