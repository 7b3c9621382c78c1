import RemoteSettings
import RemoteSettingsHTTP
import RemoteSettingsModel

/// The data that remote config stores about a collection in the index, apart from the active snapshot.
package struct ConfigState: Hashable, Sendable {
    /// A random id of this installation: `env.id`, by which percentage rollouts select installations.
    var installation: String
    /// The time of the last successful fetch.
    var lastFetch: Timestamp?
    var lastStatus = RemoteConfigFetchStatus.noFetchYet
    var lastError: String?
    /// The collection's timestamp after the last success. If the state in use is older, the fetch interval does not
    /// apply.
    var fetched: Timestamp?
    /// A hash of the server and the filters' environment at the last success. If it changes, a fetch is due.
    var context: String?
    /// The number of server failures since the last success.
    var failures: UInt64 = 0
    /// The requests of the last hour.
    var fetches = FetchCounts()
    /// The requests of the last hour that push messages caused. They are counted separately.
    var announcedFetches = FetchCounts()
    /// The current wait after a refused or failed request.
    var hold: Hold?
    /// The last push message that announced newer values.
    var stale: Stale?
    var signals = CustomSignals()
    /// The time when the active snapshot was activated.
    var activated: Timestamp?

    struct Hold: Hashable, Sendable {
        let since: Timestamp
        let until: Timestamp
        let reason: String

        /// Returns whether the wait is still in force.
        ///
        /// A wait is ignored if the clock was set back to before its beginning. It is also ignored if it is longer than
        /// any wait of the library, because anyone who can write to the storage directory could have written it.
        func isInForce(at now: Timestamp) -> Bool {
            let longest = max(
                Duration.seconds(Limits.backoffSeconds), RetryPauses.afterFetches.pause(after: .max, random: 1))
            return since <= now && now < until && until.elapsed(since: now) <= longest
        }
    }

    struct Stale: Hashable, Sendable {
        let since: Timestamp
        /// The timestamp of the collection that the message announced.
        let expected: Timestamp?
    }

    init(installation: String) { self.installation = installation }
}

extension ConfigState {
    /// Records that the server has sent its state, which is now stored.
    mutating func recordSuccess(_ collection: LocalCollection, current: Timestamp?) {
        lastFetch = collection.session.now
        lastStatus = .success
        lastError = nil
        failures = 0
        hold = nil
        fetched = current
        context = contextHash(collection)
    }

    enum Admission {
        case counted(isAnnounced: Bool)
        case usedUp(until: Timestamp)
    }

    /// Counts a request that is about to be sent, unless the hourly limit is reached.
    mutating func admitFetch(at now: Timestamp, most: Int) -> Admission {
        if let end = limitEnd(at: now, most: most) { return .usedUp(until: end) }
        let isAnnounced = stale != nil && announcedFetches.end(at: now, most: most) == nil
        if isAnnounced { announcedFetches.add(at: now) } else { fetches.add(at: now) }
        return .counted(isAnnounced: isAnnounced)
    }

    /// Removes the count of a request that did not reach the server.
    mutating func withdrawFetch(at time: Timestamp, isAnnounced: Bool) {
        if isAnnounced { announcedFetches.remove(at: time) } else { fetches.remove(at: time) }
    }

    /// Returns the time until which no request is allowed because of the hourly limit; `nil` if a request is allowed.
    func limitEnd(at now: Timestamp, most: Int) -> Timestamp? {
        guard let end = fetches.end(at: now, most: most) else { return nil }
        guard stale != nil else { return end }
        return announcedFetches.end(at: now, most: most).map { min($0, end) }
    }

    static func limitReason(most: Int) -> String {
        "the limit of \(Counted.text(most, "request")) per hour was reached (RemoteConfigSettings.fetchesPerHour)"
    }

    package var json: JSONValue {
        func time(_ timestamp: Timestamp?) -> JSONValue? { timestamp.map { .number(JSONNumber($0.milliseconds)) } }
        return .members([
            "installation": .string(installation),
            "lastFetch": time(lastFetch),
            "lastStatus": .string("\(lastStatus)"),
            "lastError": lastError.map { .string(VisibleText.excerpt($0)) },
            "fetched": time(fetched),
            "context": context.map { .string($0) },
            "failures": .count(failures),
            "fetches": fetches.json,
            "announcedFetches": announcedFetches.json,
            "heldSince": time(hold?.since),
            "heldUntil": time(hold?.until),
            "heldBecause": hold.map { .string(VisibleText.excerpt($0.reason)) },
            "staleSince": time(stale?.since),
            "staleExpected": time(stale?.expected),
            "signals": signals.json,
            "activated": time(activated),
        ])
    }

    package init?(_ head: JSONValue) {
        func time(_ key: String) -> Timestamp? { head[key]?.number?.uint64.map(Timestamp.init(milliseconds:)) }
        guard let installation = head["installation"]?.string, !installation.isEmpty else { return nil }
        self.init(installation: installation)
        lastFetch = time("lastFetch")
        let status = head["lastStatus"]?.string
        lastStatus = RemoteConfigFetchStatus.allCases.first { "\($0)" == status } ?? .noFetchYet
        lastError = head["lastError"]?.string
        fetched = time("fetched")
        context = head["context"]?.string
        failures = head["failures"]?.number?.uint64 ?? 0
        fetches = FetchCounts(head["fetches"])
        announcedFetches = FetchCounts(head["announcedFetches"])
        if let since = time("heldSince"), let until = time("heldUntil") {
            hold = Hold(since: since, until: until, reason: head["heldBecause"]?.string ?? "an earlier fetch failed")
        }
        if let since = time("staleSince") { stale = Stale(since: since, expected: time("staleExpected")) }
        signals = CustomSignals(head["signals"])
        activated = time("activated")
    }
}
