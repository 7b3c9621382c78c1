import RemoteSettingsModel

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

/// What a process knows of its own syncs: the journal's times that may wait to be stored.
struct SyncNotes: Sendable {
    var successes: [CollectionID: Timestamp] = [:]
    var clockSkew: Int64?
    private var clockSkewDuration: Duration? { clockSkew.map { .milliseconds($0) } }

    /// The time after which a later success is worth a write.
    private static let mostDelay = Duration.seconds(600)
    /// The changes of the clock skew that are not worth a write.
    private static let smallSkews = Duration.seconds(-1)...Duration.seconds(1)

    func complete(_ journal: inout SyncJournal) {
        journal.successes.merge(successes) { _, own in own }
        journal.clockSkew = clockSkew ?? journal.clockSkew
    }

    /// Returns whether these notes must be stored: a success is the first one or ten minutes later than the stored one,
    /// the clock was set back, or it has changed against the server's by more than a second.
    func isDue(after stored: SyncJournal) -> Bool {
        if let skew = clockSkewDuration {
            guard let known = stored.clockSkewDuration, Self.smallSkews.contains(skew - known) else { return true }
        }
        return successes.contains { id, time in
            stored.successes[id].map { time < $0 || time.elapsed(since: $0) >= Self.mostDelay } ?? true
        }
    }
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
