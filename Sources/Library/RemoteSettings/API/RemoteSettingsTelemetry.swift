import RemoteSettingsModel

/// Receives the outcome of every sync, for an app's own telemetry.
public protocol RemoteSettingsTelemetry: Sendable {
    /// Called once for each outcome, from any task. It must not block.
    func reportUptake(_ event: UptakeEvent)
}

/// The outcome of one attempt to get something from the server.
public struct UptakeEvent: Hashable, Sendable {
    /// How an attempt ended. The names are those of Firefox's uptake telemetry.
    ///
    /// Open: a later version may add cases, so a `switch` needs a `default`.
    public enum Status: String, Hashable, Sendable, CaseIterable {
        /// The server has nothing newer than what is held.
        case upToDate = "up_to_date"
        /// What the server has is stored.
        case success
        /// No request was sent, because the server asked for a wait that has not ended.
        case backoff
        /// The answer is not the document that was asked for.
        case parseError = "parse_error"
        /// The answer is larger or slower than the limits allow.
        case contentError = "content_error"
        /// The signature does not vouch for the records.
        case signError = "sign_error"
        /// The signature does not vouch for the records, even after a full download.
        case signRetryError = "sign_retry_error"
        /// What was stored of the collection is damaged. It was set aside, and the sync began without it.
        case corruptionError = "corruption_error"
        /// Any other failure of the sync.
        case syncError = "sync_error"
        /// What was verified could not be stored.
        case applyError = "apply_error"
        /// The server answered with an error.
        case serverError = "server_error"
        /// The certificate chain is not to be trusted.
        case certificateError = "certificate_error"
        /// An attachment could not be downloaded.
        case downloadError = "download_error"
        /// The server did not answer in time.
        case timeoutError = "timeout_error"
        /// The server could not be reached, or the connection broke.
        case networkError = "network_error"
        /// The client or its service was shut down.
        case shutdownError = "shutdown_error"
        /// An error that none of the others describes.
        case unknownError = "unknown_error"
        /// Attachments that no record names any more could not be removed. The sync itself has succeeded.
        case cleanupError = "cleanup_error"
        /// The collection has failed ten times or more since its last success. It is reported after the failure itself.
        case syncBrokenError = "sync_broken_error"
        /// The server answered, but its catalogue was not confirmed for longer than the publisher allows. Somebody may
        /// be keeping back what is newer.
        ///
        /// It is reported for the catalogue if ``RemoteSettingsConfig/publisher`` names a publisher.
        case unconfirmed
        /// The server's state is verified, and is not taken: the app's check has refused it, the app has said that it
        /// is bad, or starts with it did not get well.
        case rejectedError = "rejected_error"
    }

    /// What started the attempt.
    ///
    /// Open: a later version may add cases, so a `switch` needs a `default`.
    public enum Trigger: String, Hashable, Sendable {
        /// A call of `RemoteSettingsService.sync()` or `RemoteSettingsClient.sync()`.
        case manual
        /// The app's own timer, such as a daily background task.
        case timer
        /// The app's start.
        case startup
        /// A push message: a sync with an expected timestamp.
        case broadcast
        /// A read that syncs first, even if something is held.
        case forced
        /// A read that syncs first because nothing was held.
        case empty
        /// A trigger of a later version of the library, read from what that version has written.
        case unknown
    }

    /// `settings-sync`, `settings-changes-monitoring`, or `bucket/collection`.
    public var source: String
    /// The outcome.
    public var status: Status
    /// What started the sync.
    public var trigger: Trigger
    /// The collection's timestamp afterwards; `nil` if the attempt failed.
    public var timestamp: RemoteSettingsTimestamp?
    /// The time between the last change on the server and the server's answer.
    ///
    /// Only `settings-changes-monitoring` has it, and only if the server sends its `Date`.
    public var age: Duration?
    /// How long the attempt took.
    public var duration: Duration
    /// The bytes that need not be downloaded, because an attachment came as a delta to its earlier version.
    ///
    /// `nil` for all other outcomes: a sync, or an attachment that was downloaded whole, which is not reported if it
    /// succeeds.
    public var savedBytes: Int?
    /// The error's text; `nil` if there was none.
    public var errorDescription: String?
}

extension UptakeEvent.Status: Codable {
    /// Decodes the raw value. A status of a later version is ``unknownError``.
    public init(from decoder: any Decoder) throws {
        self = Self(rawValue: try decoder.singleValueContainer().decode(String.self)) ?? .unknownError
    }
}

extension UptakeEvent.Trigger: Codable {
    /// Decodes the raw value. A trigger of a later version is ``unknown``.
    public init(from decoder: any Decoder) throws {
        self = Self(rawValue: try decoder.singleValueContainer().decode(String.self)) ?? .unknown
    }
}
