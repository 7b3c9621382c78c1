import RemoteSettingsModel
import SnapshotBundle

/// The failures of one collection's syncs since the last one that succeeded.
public struct SyncFailures: Hashable, Sendable {
    /// One sync that failed.
    public struct Attempt: Hashable, Sendable {
        /// When it began, by this device's clock.
        public var at: Timestamp
        /// What started it.
        public var trigger: UptakeEvent.Trigger
        /// Its status in telemetry. `signRetryError` means that a full fetch after a delta failed too.
        public var status: UptakeEvent.Status
        /// The first 500 bytes of the error's text, on one line.
        public var error: String
    }

    /// How many there were, including those of earlier processes.
    public var count: Int
    /// When the first of them began, by this device's clock.
    public var since: Timestamp
    /// The last ten of them, oldest first.
    public var attempts: [Attempt]

    /// Whether there were ten or more. The records that were held before are still served.
    public var isBroken: Bool { count >= Self.most }

    static let most = 10
}

extension SyncFailures: CustomStringConvertible {
    public var description: String {
        let tried = attempts.map { "\($0.at.rfc3339) (\($0.trigger.rawValue)): \($0.status.rawValue): \($0.error)" }
        return "\(Counted.text(count, "sync")) failed since \(since.rfc3339):\n" + tried.joined(separator: "\n")
    }
}

/// What is remembered about a server's syncs from one process to the next. Verification does not depend on it.
struct SyncJournal: Hashable, Sendable {
    /// When the last run began that has brought a collection to the server's state, by this device's clock.
    var lastCheck: Timestamp?
    /// How many milliseconds this device's clock was ahead of the server's at that time.
    var clockSkew: Int64?
    var failures: [CollectionID: SyncFailures] = [:]

    /// The most bytes that the journal's file may have.
    private static let mostBytes = 4 << 20
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

    var clockSkewDuration: Duration? { clockSkew.map { .milliseconds($0) } }
}

extension SyncJournal {
    /// Reads the journal of a server. Does I/O.
    ///
    /// A file that cannot be read, or that is of another server, counts as empty.
    static func read(_ path: String, of server: ServerIdentity?, limits: Limits) -> SyncJournal {
        var journal = SyncJournal()
        guard let server, let bytes = try? FileStore.read(path, limit: mostBytes),
            let document = try? JSONValue(parsing: bytes, limits: limits),
            document["server"]?.string == server.description
        else { return journal }
        journal.lastCheck = document.time("lastCheck")
        journal.clockSkew = document["clockSkew"]?.number?.int64
        guard case .object(let members)? = document["failures"] else { return journal }
        for member in members {
            guard let id = try? CollectionID(member.key), let since = member.value.time("since"),
                let count = member.value["count"]?.number?.int64.flatMap({ Int(exactly: $0) }), count > 0
            else { continue }
            let attempts = (member.value["attempts"]?.array ?? []).compactMap(SyncFailures.Attempt.init)
            journal.failures[id] = SyncFailures(
                count: count, since: since, attempts: attempts.suffix(SyncFailures.most))
        }
        return journal
    }

    func write(to path: String, of server: ServerIdentity) throws(FileError) {
        let failures = failures.sorted { $0.key < $1.key }.map { id, failures in
            JSONValue.Member(
                key: "\(id)",
                value: .members([
                    "count": .count(failures.count), "since": .count(failures.since.milliseconds),
                    "attempts": .array(failures.attempts.map(\.json)),
                ]))
        }
        let document = JSONValue.members([
            "server": .string(server.description), "lastCheck": lastCheck.map { .count($0.milliseconds) },
            "clockSkew": clockSkew.map { .count($0) }, "failures": .object(failures),
        ])
        try FileStore.replace(
            path, with: Bytes(JSONText.compact(document)), limit: Self.mostBytes, isContended: true, flushing: false)
    }
}

extension SyncFailures.Attempt {
    fileprivate init?(_ value: JSONValue) {
        guard let at = value.time("at"), let error = value["error"]?.string,
            let trigger = value["trigger"]?.string.flatMap(UptakeEvent.Trigger.init),
            let status = value["status"]?.string.flatMap(UptakeEvent.Status.init)
        else { return nil }
        self.init(
            at: at, trigger: trigger, status: status, error: VisibleText.excerpt(error, limit: SyncJournal.errorBytes))
    }

    fileprivate var json: JSONValue {
        .members([
            "at": .count(at.milliseconds), "trigger": .string(trigger.rawValue), "status": .string(status.rawValue),
            "error": .string(error),
        ])
    }
}

extension JSONValue {
    fileprivate func time(_ key: String) -> Timestamp? {
        self[key]?.number?.uint64.map(Timestamp.init(milliseconds:))
    }
}

/// Writes the journal while syncs run, one entry after the other. If two processes sync at once, the last write wins.
final class SyncJournalKeeper: Sendable {
    private let storage: StorageDirectory
    private let server: ServerIdentity?
    private let limits: Limits
    /// This is not an actor: a caller on this package's own threads could then wait in its queue behind a task of a
    /// blocked pool.
    private let known = Mutex<SyncJournal?>(nil)

    init(_ storage: StorageDirectory, of server: ServerIdentity?, limits: Limits) {
        self.storage = storage
        self.server = server
        self.limits = limits
    }

    /// The current content of the file.
    var present: SyncJournal { SyncJournal.read(storage.journalPath, of: server, limits: limits) }

    /// Notes that a run begins: the server has sent its list of collections.
    func recordAnswer(serverTime: Timestamp?, now: Timestamp) {
        // Another process may have written since.
        change(rereading: true) { journal in
            guard let serverTime else { return }
            let (mine, theirs) = (Int64(clamping: now.milliseconds), Int64(clamping: serverTime.milliseconds))
            journal.clockSkew = mine - theirs
        }
    }

    /// - Parameter began: when the run began that has synced it.
    func recordSuccess(of id: CollectionID, in began: Timestamp) {
        change { journal in
            journal.failures[id] = nil
            journal.lastCheck = began
        }
    }

    func record(_ attempt: SyncFailures.Attempt, of id: CollectionID) -> SyncFailures {
        change { $0.record(attempt, of: id) }
    }

    /// Forgets everything, and removes the file.
    func reset() {
        known.withLock { known in
            known = nil
            try? FileStore.remove(storage.journalPath)
        }
    }

    private func change<Value: Sendable>(rereading: Bool = false, _ body: (inout SyncJournal) -> Value) -> Value {
        known.withLock { known in
            let old = rereading ? present : known ?? present
            var new = old
            let value = body(&new)
            known = new
            guard new != old, let server else { return value }
            // The sync goes on without a journal that cannot be written.
            try? storage.prepare()
            try? new.write(to: storage.journalPath, of: server)
            return value
        }
    }
}
