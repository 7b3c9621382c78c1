import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// The state of a whole service, for a status screen, a bug report or a fleet's metrics. Its description is a text for
/// people, and it encodes as JSON of a fixed shape.
public struct ServiceInspection: Hashable, Sendable {
    /// The state of one collection.
    public struct Collection: Hashable, Sendable {
        /// What is held.
        public var status: CollectionStatus
        /// The collection's timestamp on the server; `nil` if the server was not asked, or does not have it.
        public var serverTimestamp: RemoteSettingsTimestamp?
        /// The syncs that failed since the last one that succeeded; `nil` if none has.
        public var failures: SyncFailures?
        /// Whether the collection has a client, so that the service's sync covers it.
        public var hasClient: Bool

        /// Whether a file of a developer's machine replaces the collection, so that it is not synced.
        public var isPinned: Bool {
            if case .override = status.source { true } else { false }
        }

        /// The text of the last sync's error; `nil` if that sync succeeded.
        public var lastError: String? { failures?.attempts.last?.error }

        /// How much older its records are than the server's; `nil` if the server was not asked, or if there are no
        /// records.
        public var behind: Duration? {
            guard let serverTimestamp, let held = status.timestamp else { return nil }
            return serverTimestamp.elapsed(since: held)
        }
    }

    /// The server's base URL; empty if the configured one is not valid.
    public var server: String
    /// Whether collections are read from the preview of their buckets.
    public var isPreview: Bool
    /// The catalogue whose states are read; `nil` without catalogues.
    public var catalogue: CatalogueStatus?
    /// The storage directory.
    public var storage: String
    /// When the last sync began that has brought a collection to the server's state, by this device's clock; `nil` if
    /// none has.
    public var lastCheck: RemoteSettingsTimestamp?
    /// How far this device's clock was ahead of the server's at the last sync; negative if it was behind.
    public var clockSkew: Duration?
    /// Until when the server asked for no requests; `nil` if it has not asked.
    public var backoffUntil: RemoteSettingsTimestamp?
    /// The collections that have a client, have something stored, or have failed, sorted by name.
    public var collections: [Collection]

    /// When the last sync began, whether it succeeded or not, by this device's clock; `nil` if there was none.
    ///
    /// A device without network makes no attempt that counts.
    public var lastAttempt: Timestamp? {
        (collections.compactMap { $0.failures?.attempts.last?.at } + [lastCheck].compactMap(\.self)).max()
    }
}

extension ServiceInspection: Encodable {
    private enum Key: String, CodingKey {
        case server, preview, catalogue, lastAttempt, lastSuccess, clockSkewSeconds, backoffUntil, collections
    }

    /// Encodes times as RFC 3339 in UTC and durations in seconds. A member without a value is left out.
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(server, forKey: .server)
        try members.encode(isPreview, forKey: .preview)
        try members.encodeIfPresent(catalogue?.number, forKey: .catalogue)
        try members.encodeIfPresent(lastAttempt?.rfc3339, forKey: .lastAttempt)
        try members.encodeIfPresent(lastCheck?.rfc3339, forKey: .lastSuccess)
        try members.encodeIfPresent(clockSkew?.components.seconds, forKey: .clockSkewSeconds)
        try members.encodeIfPresent(backoffUntil?.rfc3339, forKey: .backoffUntil)
        try members.encode(collections, forKey: .collections)
    }
}

extension ServiceInspection.Collection: Encodable {
    private enum Key: String, CodingKey {
        case collection, source, timestamp, records, pinned, failures, failingSince, error, serverTimestamp
        case behindSeconds
    }

    /// Encodes the collection. Its name is `bucket/collection`.
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(status.collection, forKey: .collection)
        try members.encode(status.source.word, forKey: .source)
        try members.encodeIfPresent(status.timestamp?.rfc3339, forKey: .timestamp)
        try members.encodeIfPresent(status.records, forKey: .records)
        try members.encode(isPinned, forKey: .pinned)
        try members.encode(failures?.count ?? 0, forKey: .failures)
        try members.encodeIfPresent(failures?.since.rfc3339, forKey: .failingSince)
        try members.encodeIfPresent(lastError, forKey: .error)
        try members.encodeIfPresent(serverTimestamp?.rfc3339, forKey: .serverTimestamp)
        try members.encodeIfPresent(behind?.components.seconds, forKey: .behindSeconds)
    }
}

extension CollectionStatus.Source {
    /// The source without paths, which may name a person.
    fileprivate var word: String {
        switch self {
        case .cached: "cached"
        case .packaged: "packaged"
        case .override: "override"
        case .notHeld: "none"
        }
    }
}

extension ServiceInspection: CustomStringConvertible {
    public var description: String {
        var lines = ["server: \(server)\(isPreview ? " (preview)" : "")", "storage: \(storage)"]
        if let catalogue { lines.append("\(catalogue)") }
        if let lastCheck { lines.append("last check: \(lastCheck.rfc3339)") }
        if let clockSkew { lines.append("clock skew: \(clockSkew) ahead of the server") }
        if let backoffUntil { lines.append("no requests until \(backoffUntil.rfc3339)") }
        for collection in collections {
            let status = collection.status
            let current = status.timestamp.map { "\($0.rfc3339), \(status.source)" } ?? "no data"
            let served = collection.serverTimestamp.map { "; on the server \($0.rfc3339)" } ?? ""
            lines.append("\(status.collection): \(current)\(served)")
            if case .override(let path) = status.source { lines.append("  OVERRIDDEN for development by \(path)") }
            lines += status.rejected.filter { $0.reason != .older }.map { "  \($0)" }
            if let failures = collection.failures { lines.append("  \(failures)") }
            if let recent = status.recentFailure {
                let until = recent.nextTry.rfc3339
                lines.append("  reads will not sync before \(until), because the last sync failed: \(recent.error)")
            }
        }
        return lines.joined(separator: "\n")
    }
}

extension RemoteSettingsService {
    /// The state of the service as this device knows it. Never uses the network.
    ///
    /// Does I/O: it reads and verifies every collection that has a client or has something stored.
    public func inspect() -> ServiceInspection { inspection(monitor: nil) }

    /// Like ``inspect()``, with the server's timestamps. It asks the server once, and syncs nothing.
    ///
    /// - Throws: ``RemoteSettingsError`` if the server's list of collections could not be fetched.
    public func inspectWithServer() async throws(RemoteSettingsError) -> ServiceInspection {
        let session = session
        let client = try session.startingRun()
        do {
            guard case .changes(let document, _) = try await WorkThreads.run({ try await client.monitor() }) else {
                throw RemoteSettingsError.other(
                    reason: "\(client.server): the server sent no list of its collections")
            }
            return inspection(monitor: try MonitorChangeset(parsing: document.body, limits: session.limits))
        } catch {
            session.keepBackoff(client)
            throw RemoteSettingsError(error)
        }
    }

    /// The states in use as one line, for a log, a metric or a user agent of a fleet: for each collection that has a
    /// client, its name, its timestamp in milliseconds, and the first 12 hexadecimal digits of the SHA-256 of its
    /// signed payload, as in `main/regions@1795440661471:4355a46b19d3 main/words@-`.
    ///
    /// Equal texts mean equal records. A dash means that nothing is held. Does I/O, and never uses the network.
    public var stateSummary: String {
        clientCollections.map { collection in
            guard let payload = collection.current().snapshot?.payload else { return "\(collection.id)@-" }
            let digest = SHA256Digest(hashing: payload.bytes).hex.prefix(12)
            return "\(collection.id)@\(payload.timestamp):\(digest)"
        }.joined(separator: " ")
    }

    /// When the last sync began that has brought a collection to the server's state, by this device's clock, in this
    /// process or an earlier one; `nil` if none has. Reads one small file, and verifies nothing.
    public var lastCheck: RemoteSettingsTimestamp? { session.journal.lastCheck }

    /// How far this device's clock was ahead of the server's at the last sync of this process or an earlier one;
    /// negative if it was behind.
    ///
    /// It is `nil` if there was no sync, or if the server sends no time. The server's time is not verified, so no
    /// signature is checked against it. Does I/O.
    public var clockSkew: Duration? { session.journal.clockSkewDuration }

    private func inspection(monitor: MonitorChangeset?) -> ServiceInspection {
        let session = session
        let journal = session.journal
        let clients = Set(clientCollections.map(\.id))
        let index = session.storage.index()
        let ids = clients.union(index.ids).union(journal.failures.keys).sorted()
        let server = try? session.server.get()
        let holds = index.backoff.holds(at: session.now)
        return ServiceInspection(
            server: server.map { "\($0)" } ?? "", isPreview: session.config.isPreview, catalogue: catalogue,
            storage: session.storage.path,
            lastCheck: journal.lastCheck, clockSkew: journal.clockSkewDuration,
            backoffUntil: holds.first { $0.origin == server?.root.origin }?.until,
            collections: ids.map { id in
                .init(
                    status: collection(id: id).status, serverTimestamp: monitor?.collections[id],
                    failures: journal.failures[id], hasClient: clients.contains(id))
            })
    }

    /// Removes everything that is stored of every collection, with or without a client, and the record of past syncs.
    ///
    /// This includes what protects collections from older states. Packaged records are then used again. A wait that the
    /// server asked for stays, and so do files in the storage directory that the library has not written. Does I/O.
    ///
    /// - Throws: ``RemoteSettingsError`` if the files cannot be removed, or if another process is
    ///   writing.
    public func resetStorage() async throws(RemoteSettingsError) {
        let session = session
        do {
            let storage = session.storage
            if try FileStore.isDirectory(storage.path) {
                try storage.prepare()
                let ids = storage.index().ids
                let (_, problem) = try storage.update(waiting: .no) { index in
                    (index.collections, index.configs, index.schedules, index.journal) = ([:], [:], [:], nil)
                }
                if let problem { throw problem }
                for id in ids { session.trials.forget(id) }
                try FileStore.removeTree("\(storage.path)/attachments", below: storage.path)
                try FileStore.removeTree(storage.chainsPath, below: storage.path)
            }
        } catch {
            throw RemoteSettingsError(error)
        }
        forgetCollections()
    }
}

extension RemoteSettingsClient {
    /// The syncs of this collection that failed since the last one that succeeded; `nil` if the last one succeeded.
    ///
    /// Failures of earlier processes count too. Does I/O.
    public var syncFailures: SyncFailures? {
        guard let collection = try? collection() else { return nil }
        return collection.session.journal.failures[collection.id]
    }
}
