import RemoteSettingsModel
import SnapshotBundle

/// The failed syncs of one collection since the last successful one.
public struct SyncFailures: Codable, Hashable, Sendable {
    /// A failed sync.
    public struct Attempt: Codable, Hashable, Sendable {
        /// The time when the sync began, by this device's clock.
        public var at: RemoteSettingsTimestamp
        /// The cause of the sync.
        public var trigger: UptakeEvent.Trigger
        /// The status in telemetry. `signRetryError` means that a full fetch, after a delta, failed too.
        public var status: UptakeEvent.Status
        /// The first 500 bytes of the error's description, on one line.
        public var error: String
    }

    /// The number of failures, including those in earlier processes.
    public var count: Int
    /// The time when the first failed sync began, by this device's clock.
    public var since: RemoteSettingsTimestamp
    /// The last ten failures, oldest first.
    public var attempts: [Attempt]

    /// Whether at least ten consecutive syncs have failed. The current records remain in use.
    public var isBroken: Bool { count >= Self.most }

    static let most = 10
}

extension SyncFailures: CustomStringConvertible {
    public var description: String {
        let tried = attempts.map { "\($0.at.rfc3339) (\($0.trigger.rawValue)): \($0.status.rawValue): \($0.error)" }
        return "\(Counted.text(count, "sync")) failed since \(since.rfc3339):\n" + tried.joined(separator: "\n")
    }
}

/// The data about a server's syncs that is kept from one process to the next. Verification does not depend on it.
package struct SyncJournal: Hashable, Sendable {
    let server: String
    /// The start time of each collection's last successful sync, by this device's clock.
    var successes: [CollectionID: Timestamp] = [:]
    /// The number of milliseconds by which this device's clock was ahead of the server's at the server's last answer.
    var clockSkew: Int64?
    var failures: [CollectionID: SyncFailures] = [:]

    fileprivate static let errorBytes = 500

    mutating func record(_ attempt: SyncFailures.Attempt, of id: CollectionID) -> SyncFailures {
        var attempt = attempt
        attempt.error = VisibleText.excerpt(attempt.error, limit: Self.errorBytes)
        var noted = failures[id] ?? SyncFailures(count: 0, since: attempt.at, attempts: [])
        noted.count = noted.count.saturatingAdding(1)
        noted.attempts = (noted.attempts + [attempt]).suffix(SyncFailures.most)
        failures[id] = noted
        return noted
    }

    var lastCheck: Timestamp? { successes.values.max() }

    var clockSkewDuration: Duration? { clockSkew.map { .milliseconds($0) } }

    init(of server: String) { self.server = server }
}

extension SyncJournal {
    init?(_ json: JSONValue) {
        guard let server = json["server"]?.string else { return nil }
        self.init(of: server)
        for (key, value) in json.members("successes") {
            guard let id = try? CollectionID(key), let time = value.number?.uint64 else { continue }
            successes[id] = Timestamp(milliseconds: time)
        }
        clockSkew = json["clockSkew"]?.number?.int64
        for (key, value) in json.members("failures") {
            guard let id = try? CollectionID(key), let since = value.time("since"), value.count("count") > 0
            else { continue }
            let attempts = (value["attempts"]?.array ?? []).compactMap(SyncFailures.Attempt.init)
            failures[id] = SyncFailures(
                count: value.count("count"), since: since, attempts: attempts.suffix(SyncFailures.most))
        }
    }

    var json: JSONValue {
        let (failures, successes) = (failures.map { ("\($0)", $1) }, successes.map { ("\($0)", $1) })
        return .members([
            "server": .string(server), "clockSkew": clockSkew.map { .count($0) },
            "successes": .object(Dictionary(successes) { first, _ in first }) { .time($0) },
            "failures": .object(Dictionary(failures) { first, _ in first }) { failures in
                .members([
                    "count": .count(failures.count), "since": .time(failures.since),
                    "attempts": .array(failures.attempts.map(\.json)),
                ])
            },
        ])
    }
}

extension SyncFailures.Attempt {
    fileprivate init?(_ value: JSONValue) {
        guard let at = value.time("at"), let error = value["error"]?.string,
            let trigger = value["trigger"]?.string, let status = value["status"]?.string
        else { return nil }
        self.init(
            at: at, trigger: .init(rawValue: trigger) ?? .unknown, status: .init(rawValue: status) ?? .unknownError,
            error: VisibleText.excerpt(error, limit: SyncJournal.errorBytes))
    }

    fileprivate var json: JSONValue {
        .members([
            "at": .time(at), "trigger": .string(trigger.rawValue), "status": .string(status.rawValue),
            "error": .string(error),
        ])
    }
}

extension Session {
    /// The journal of the configured server. The journal of a different server is treated as empty.
    var journal: SyncJournal { journal(in: storage.index()) }

    private func journal(in index: StorageIndex) -> SyncJournal {
        let server = serverIdentity.description
        return index.journal.flatMap { $0.server == server ? $0 : nil } ?? SyncJournal(of: server)
    }

    /// Records the difference between the clocks when the server has sent its list of collections.
    func recordAnswer(serverTime: Timestamp?) {
        guard let serverTime else { return }
        let (mine, theirs) = (Int64(clamping: now.milliseconds), Int64(clamping: serverTime.milliseconds))
        changeJournal { $0.clockSkew = mine - theirs }
    }

    /// Records a successful sync. ``keepSuccesses()`` stores its time.
    ///
    /// - Parameter began: the start time of the run that synced the collection.
    func recordSuccess(of id: CollectionID, in began: Timestamp) {
        successes.withLock { $0[id] = began }
        changeJournal { $0.failures[id] = nil }
    }

    /// Stores the times of all successes since the last call, so that a run of many collections writes the index once.
    func keepSuccesses() {
        let new = successes.withLock { successes in
            defer { successes = [:] }
            return successes
        }
        changeJournal { $0.successes.merge(new) { _, new in new } }
    }

    func record(_ attempt: SyncFailures.Attempt, of id: CollectionID) -> SyncFailures {
        changeJournal { $0.record(attempt, of: id) }
    }

    @discardableResult
    private func changeJournal<Value>(_ change: (inout SyncJournal) -> Value) -> Value {
        let old = journal
        var new = old
        let value = change(&new)
        guard new != old, server.isValid else { return value }
        return remember { index in
            var journal = journal(in: index)
            defer { index.journal = journal }
            return change(&journal)
        } ?? value
    }
}

extension Result {
    fileprivate var isValid: Bool { (try? get()) != nil }
}
