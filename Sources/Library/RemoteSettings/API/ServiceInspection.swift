import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// The state of a whole service, for a status screen, a bug report or the metrics of a fleet. Its description is a
/// readable report. It encodes to JSON with a fixed schema, which a fleet's collector can decode.
public struct ServiceInspection: Hashable, Sendable {
    /// The state of one collection.
    public struct Collection: Hashable, Sendable {
        /// The status of the collection on this device.
        public var status: CollectionStatus
        /// The collection's timestamp on the server; `nil` if the server was not contacted, or does not have the
        /// collection.
        public var serverTimestamp: RemoteSettingsTimestamp?
        /// The start time of the collection's last successful sync, by this device's clock; `nil` if there was none.
        public var lastSuccess: RemoteSettingsTimestamp?
        /// The failed syncs since the last successful one; `nil` if there are none.
        public var failures: SyncFailures?
        /// Whether the collection has a client and is therefore synced with the service.
        public var hasClient: Bool

        /// Whether a local file replaces the collection for development, so that it is not synced.
        public var isPinned: Bool {
            if case .override = status.source { true } else { false }
        }

        /// The start time of the collection's last sync, successful or not, by this device's clock; `nil` if there was
        /// none.
        ///
        /// Attempts without a network connection do not count.
        public var lastAttempt: RemoteSettingsTimestamp? {
            [failures?.attempts.last?.at, lastSuccess].compactMap(\.self).max()
        }

        /// The error of the last sync; `nil` if that sync succeeded.
        public var lastError: String? { failures?.attempts.last?.error }

        /// The difference between the timestamps of the server's records and the local ones; `nil` if the server was
        /// not contacted, or if there are no local records.
        public var behind: Duration? {
            guard let serverTimestamp, let held = status.timestamp else { return nil }
            return serverTimestamp.elapsed(since: held)
        }
    }

    /// The server's base URL; empty if the configured one is not valid.
    public var server: String
    /// Whether collections are read from the preview of their buckets.
    public var isPreview: Bool
    /// The path of the storage directory.
    public var storage: String
    /// The start time of the last successful sync, by this device's clock; `nil` if there was none.
    public var lastCheck: RemoteSettingsTimestamp?
    /// The difference between this device's clock and the server's at the last sync; positive if the device's clock was
    /// ahead.
    public var clockSkew: Duration?
    /// The time when the backoff requested by the server expires; `nil` if there is none.
    public var backoffUntil: RemoteSettingsTimestamp?
    /// The collections that have a client, stored data or failed syncs, sorted by name.
    public var collections: [Collection]

    /// The start time of the last sync, whether it succeeded or failed, by this device's clock; `nil` if there was
    /// none.
    ///
    /// Attempts without a network connection do not count.
    public var lastAttempt: RemoteSettingsTimestamp? {
        (collections.compactMap(\.lastAttempt) + [lastCheck].compactMap(\.self)).max()
    }
}

extension ServiceInspection: CustomStringConvertible {
    public var description: String {
        var lines = ["server: \(server)\(isPreview ? " (preview)" : "")", "storage: \(storage)"]
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
            if status.unevaluatedRecords > 0 {
                let omitted = Counted.text(status.unevaluatedRecords, "record")
                lines.append("  \(omitted) omitted, because evaluating all filters takes too much work")
            }
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
    /// Returns the state of the service as known on this device. Never uses the network.
    ///
    /// Does I/O: it reads and verifies every collection that has a client or stored data.
    public func inspect() -> ServiceInspection { inspection(monitor: nil) }

    /// Returns the state of the service with the server's timestamps. Sends one request and syncs nothing. See
    /// ``inspect()``.
    ///
    /// - Throws: ``RemoteSettingsError`` if the server's list of collections could not be fetched, or if the service
    ///   was shut down.
    public func inspectWithServer() async throws(RemoteSettingsError) -> ServiceInspection {
        let session = session
        guard !session.isClosed else { throw .closed }
        let client = try session.startingRun()
        do {
            guard case .changes(let document, _) = try await WorkThreads.run({ try await client.monitor() }) else {
                throw RemoteSettingsError.other(
                    reason: "\(client.server): the server sent no list of its collections (204); try again later")
            }
            return inspection(monitor: try MonitorChangeset(parsing: document.body))
        } catch {
            session.keepBackoff(client)
            throw RemoteSettingsError(error)
        }
    }

    /// The current states of the collections as one line, for logs, metrics or the user agent of a fleet.
    ///
    /// For each collection that has a client, it contains the name, the timestamp in milliseconds, and the first 12
    /// hexadecimal digits of the SHA-256 of the signed payload, for example `main/regions@1795440661471:4355a46b19d3
    /// main/words@-`.
    ///
    /// Equal strings mean equal records. A dash means that there is no local state. Does I/O, and never uses the
    /// network.
    public var stateSummary: String {
        clientCollections.map { collection in
            guard let payload = collection.current().snapshot?.payload else { return "\(collection.id)@-" }
            let digest = SHA256Digest(hashing: payload.bytes).hex.prefix(12)
            return "\(collection.id)@\(payload.timestamp):\(digest)"
        }.joined(separator: " ")
    }

    /// The start time of the last successful sync of this process or an earlier one, by this device's clock; `nil` if
    /// there was none. Reads the index of the storage directory, which is not verified.
    public var lastCheck: RemoteSettingsTimestamp? { session.journal.lastCheck }

    /// The difference between this device's clock and the server's at the last sync of this process or an earlier one;
    /// positive if the device's clock was ahead.
    ///
    /// It is `nil` if there was no sync, or if the server sends no time. The server's time is not authenticated, so
    /// signatures are not checked against it. Does I/O.
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
            server: server.map { "\($0)" } ?? "", isPreview: session.config.isPreview,
            storage: session.storage.path,
            lastCheck: journal.lastCheck, clockSkew: journal.clockSkewDuration,
            backoffUntil: holds.first { $0.origin == server?.root.origin }?.until,
            collections: ids.map { id in
                .init(
                    status: collection(id: id).status, serverTimestamp: monitor?.collections[id],
                    lastSuccess: journal.successes[id], failures: journal.failures[id], hasClient: clients.contains(id))
            })
    }

    /// Removes all stored data of every collection, with or without a client, and the record of past syncs.
    ///
    /// This includes the data that protects collections from rollbacks to older states. Packaged records are then used
    /// again. A backoff requested by the server remains in force, and files in the storage directory that the library
    /// did not write are kept. Does I/O.
    ///
    /// - Throws: ``RemoteSettingsError`` if the files cannot be removed, or if another process is writing.
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
                // The folders of buckets, and those of collections in them.
                try storage.removeOwnFiles(in: storage.allAttachmentsPath, levels: 2)
                try storage.removeOwnFiles(in: storage.chainsPath, levels: 0)
            }
        } catch {
            throw RemoteSettingsError(error)
        }
        forgetCollections()
    }
}

extension RemoteSettingsClient {
    /// The failed syncs of this collection since the last successful one; `nil` if the last sync succeeded.
    ///
    /// Failures in earlier processes count too. Does I/O.
    public var syncFailures: SyncFailures? {
        guard let collection = try? collection() else { return nil }
        return collection.session.journal.failures[collection.id]
    }
}
