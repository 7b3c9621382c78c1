import RemoteSettingsModel

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
            lines += status.unused.filter { $0.reason != .older }.map { "  \($0)" }
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
