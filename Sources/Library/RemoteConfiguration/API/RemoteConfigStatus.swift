import RemoteSettings
import RemoteSettingsModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// How the last call of ``RemoteConfig/fetch()`` ended.
///
/// The numbers are Firebase's.
///
/// Closed: no version adds a case.
public enum RemoteConfigFetchStatus: Int, Hashable, Sendable, CaseIterable {
    /// No fetch has ended yet.
    case noFetchYet
    /// The fetch succeeded, or the last success is younger than the interval.
    case success
    /// The server could not be asked, or its answer was refused.
    case failure
    /// No request was allowed, or the server answered 429, 500, 503 or 504.
    ///
    /// The server asked for a pause or has failed before, or the app has made all requests of an hour.
    case throttled
}

/// How ``RemoteConfig/fetchAndActivate()`` ended.
///
/// The numbers are Firebase's.
///
/// Closed: no version adds a case.
public enum RemoteConfigFetchAndActivateStatus: Int, Hashable, Sendable, CaseIterable {
    /// The server was asked, and its state is active.
    case successFetchedFromRemote
    /// No request was due. The values that had been fetched before are active.
    case successUsingPreFetchedData
    /// It failed. The error says why.
    case error
}

/// The state of remote config, where its values come from, and what happens next. It is for people and logs.
public struct RemoteConfigStatus: Hashable, Sendable {
    /// A state of the collection.
    public struct State: Hashable, Sendable {
        /// The source: ``RemoteConfigSource/remote`` or ``RemoteConfigSource/packaged``.
        public var source: RemoteConfigSource
        /// The collection's timestamp.
        public var timestamp: RemoteSettingsTimestamp
        /// The time since the collection last changed on the server.
        public var age: Duration
        /// What vouches for it: the signer and the root, or nothing.
        public var provenance: Provenance
        /// The number of parameter records, including those for other apps.
        public var records: Int
    }

    /// The state that values are read from; `nil` if there are only defaults.
    public var active: State?
    /// The newest state on this device; `nil` if there is none.
    public var fetched: State?
    /// The keys whose values the next activation would change.
    public var waiting: Set<String>
    /// When a fetch last succeeded; `nil` if none has.
    public var lastFetch: RemoteSettingsTimestamp?
    /// How the last fetch ended.
    public var lastFetchStatus: RemoteConfigFetchStatus
    /// Why the last fetch failed; `nil` if it succeeded.
    public var lastFetchError: String?
    /// The earliest time at which ``RemoteConfig/fetch()`` asks the server again; `nil` if it may ask at once.
    public var nextFetch: RemoteSettingsTimestamp?
    /// Why the server is not asked before ``nextFetch``; `nil` if the interval is the only reason.
    public var holdReason: String?
    /// Whether a push message has announced something newer since the last successful fetch.
    public var isStale: Bool
    /// Why there is no active state, or why a newer one is not used.
    public var problems: [String]
    /// The values that the app's own code overrides during development, one sentence each.
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
