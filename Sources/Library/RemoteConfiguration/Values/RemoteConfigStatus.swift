import RemoteSettings
import RemoteSettingsModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The result of the last call of ``RemoteConfig/fetch()``.
///
/// The raw values are those of Firebase.
///
/// Closed: no version adds a case.
public enum RemoteConfigFetchStatus: Int, Hashable, Sendable, CaseIterable {
    /// No fetch has finished yet.
    case noFetchYet
    /// The fetch succeeded, or was not due because of the interval.
    case success
    /// The server could not be reached, or its response was refused.
    case failure
    /// No request was allowed, or the server answered 429, 500, 503 or 504.
    ///
    /// The server has requested a backoff or has failed before, or the app has reached the hourly limit on requests.
    case throttled
}

/// The result of ``RemoteConfig/fetchAndActivate()``.
///
/// The raw values are those of Firebase.
///
/// Closed: no version adds a case.
public enum RemoteConfigFetchAndActivateStatus: Int, Hashable, Sendable, CaseIterable {
    /// A request was sent, and the server's state is active.
    case successFetchedFromRemote
    /// No request was due. The values that were fetched before are active.
    case successUsingPreFetchedData
    /// The call failed. See the thrown error for the reason.
    case error
}

/// The status of remote config, for logs and status screens: its state, the source of its values, and the next fetch.
public struct RemoteConfigStatus: Hashable, Sendable {
    /// A state of the collection.
    public struct State: Hashable, Sendable {
        /// The source: `remote`, `packaged` or `override`.
        public var source: RemoteConfigSource
        /// The collection's timestamp.
        public var timestamp: RemoteSettingsTimestamp
        /// The time since the collection last changed on the server.
        public var age: Duration
        /// The basis of trust in the state, such as a signature under a pinned root.
        public var provenance: Provenance
        /// The number of parameter records, including those whose filters exclude this app.
        public var records: Int
    }

    /// The state that values are read from; `nil` if there are only defaults.
    public var active: State?
    /// The newest state on this device; `nil` if there is none.
    public var fetched: State?
    /// The keys whose values the next activation would change.
    public var waiting: Set<String>
    /// The time of the last successful fetch; `nil` if there was none.
    public var lastFetch: RemoteSettingsTimestamp?
    /// The result of the last fetch.
    public var lastFetchStatus: RemoteConfigFetchStatus
    /// The error of the last fetch; `nil` if it succeeded.
    public var lastFetchError: String?
    /// The earliest time when ``RemoteConfig/fetch()`` contacts the server again; `nil` if it may do so at once.
    public var nextFetch: RemoteSettingsTimestamp?
    /// The reason that the server is not contacted before ``nextFetch``; `nil` if the interval is the only reason.
    public var holdReason: String?
    /// Whether newer values have been announced since the last successful fetch, for example by a push message.
    public var isStale: Bool
    /// The reasons that there is no active state, or that a newer one is not used.
    public var problems: [String]
    /// The overrides set by the app's own code during development, one sentence each.
    public var overrides: [String] = []
}

extension RemoteConfigStatus: CustomStringConvertible {
    public var description: String {
        func shown(_ state: State?) -> String {
            guard let state else { return "none" }
            let trust =
                switch state.provenance {
                case .signed(let verdict): "signed by \(verdict.signer)"
                case .unsigned: "unsigned"
                case .imported: "imported"
                }
            return "\(state.source.rawValue), \(state.timestamp.rfc3339), \(trust)"
        }
        var lines = overrides + ["active: \(shown(active))", "fetched: \(shown(fetched))"]
        if !waiting.isEmpty { lines.append("waiting for activation: \(waiting.sorted().joined(separator: ", "))") }
        lines.append("last fetch: \(lastFetch?.rfc3339 ?? "never succeeded"), \(lastFetchStatus)")
        if let lastFetchError { lines.append("last error: \(lastFetchError)") }
        if let nextFetch { lines.append("next fetch not before \(nextFetch.rfc3339)") }
        if let holdReason { lines.append("because \(holdReason)") }
        if isStale { lines.append("a newer version has been announced") }
        return (lines + problems).joined(separator: "\n")
    }
}
