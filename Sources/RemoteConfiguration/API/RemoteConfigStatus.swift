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
public enum RemoteConfigFetchStatus: Int, Hashable, Sendable, CaseIterable {
    /// There was none yet.
    case noFetchYet
    /// The server was asked, or the last success is younger than the interval.
    case success
    /// The server could not be asked, or its answer was refused.
    case failure
    /// The server asked for a pause, has failed before, or answered 429, 500, 503 or 504; or the app has made all
    /// requests of an hour.
    case throttled
}

/// How ``RemoteConfig/fetchAndActivate()`` ended.
///
/// The numbers are Firebase's.
public enum RemoteConfigFetchAndActivateStatus: Int, Hashable, Sendable, CaseIterable {
    /// The server was asked, and what it has is active.
    case successFetchedFromRemote
    /// No request was due; what had been fetched before is active.
    case successUsingPreFetchedData
    /// It failed; the error says why.
    case error
}

/// What there is, where it comes from, and what happens next. Made for people and logs; nothing depends on it.
public struct RemoteConfigStatus: Hashable, Sendable {
    /// A state of the collection.
    public struct State: Hashable, Sendable {
        /// ``RemoteConfigSource/remote`` or ``RemoteConfigSource/packaged``.
        public var source: RemoteConfigSource
        /// The collection's timestamp.
        public var timestamp: Timestamp
        /// The time since the collection was changed on the server.
        public var age: Duration
        /// What vouches for it: the signer and the root, or that nobody does.
        public var trust: Provenance
        /// The number of parameter records, those that are not for this app included.
        public var records: Int
    }

    /// The state that values are read from; `nil` if there are only defaults.
    public var active: State?
    /// The newest state on this device; `nil` if there is none.
    public var fetched: State?
    /// The keys whose values the next activation changes.
    public var waiting: Set<String>
    /// When a fetch last succeeded.
    public var lastFetch: Timestamp?
    /// How the last fetch ended.
    public var lastFetchStatus: RemoteConfigFetchStatus
    /// Why the last fetch failed; `nil` if it did not.
    public var lastFetchError: String?
    /// When the server is asked again at the earliest, by a call of ``RemoteConfig/fetch()``; `nil` for at once.
    public var nextFetch: Timestamp?
    /// Why the server is not asked before ``nextFetch``; `nil` if that is only the interval.
    public var holdReason: String?
    /// Whether a push message has said that there is something newer, and no fetch has succeeded since.
    public var isStale: Bool
    /// Why there is no active state, or a newer one is not used.
    public var problems: [String]
    /// What the app's own code has put in the place of values while it is developed, a sentence each.
    public var overrides: [String] = []
}

extension RemoteConfigStatus: CustomStringConvertible {
    public var description: String {
        func shown(_ state: State?) -> String {
            guard let state else { return "none" }
            let trust =
                switch state.trust {
                case .signed(let verdict): "signed by \(verdict.signer)"
                case .unsigned: "unsigned"
                case .imported: "imported"
                }
            return "\(state.source.rawValue), \(state.timestamp.rfc3339), \(trust)"
        }
        var lines = overrides + ["active: \(shown(active))", "fetched: \(shown(fetched))"]
        if !waiting.isEmpty { lines.append("waiting for activation: \(waiting.sorted().joined(separator: ", "))") }
        lines.append("last fetch: \(lastFetch?.rfc3339 ?? "never succeeded"), \(lastFetchStatus)")
        if let lastFetchError { lines.append("failed: \(lastFetchError)") }
        if let nextFetch { lines.append("next fetch not before \(nextFetch.rfc3339)") }
        if let holdReason { lines.append("because \(holdReason)") }
        if isStale { lines.append("a message has announced something newer") }
        return (lines + problems).joined(separator: "\n")
    }
}
