import RemoteSettingsHTTP
import RemoteSettingsModel

/// The outcome of a sync for one collection.
public struct CollectionSyncResult: Hashable, Sendable {
    /// The collection, as `bucket/collection`.
    public var collection: String
    /// The outcome of the sync or the error. After a failure, the current records remain in use.
    public var result: Result<SyncOutcome, RemoteSettingsError>
    /// The outcome in terms of telemetry; `nil` if nothing was attempted.
    package var uptake: SyncUptake?

    init(_ id: CollectionID, _ result: Result<SyncOutcome, RemoteSettingsError>, _ uptake: SyncUptake? = nil) {
        (collection, self.result, self.uptake) = ("\(id)", result, uptake)
    }

    /// Creates the result of a collection that was not synced.
    ///
    /// - Parameter error: the reason that the list of collections could not be fetched.
    init(_ id: CollectionID, _ error: any Error) {
        self.init(id, .failure(RemoteSettingsError(error)), SyncUptake(UptakeEvent.Status(error), error))
    }

    /// Whether the collection is now in the server's state.
    public var isSynced: Bool {
        switch result {
        case .success(.upToDate), .success(.updated): true
        case .success(.notAsked), .failure: false
        }
    }

    /// The reason that the sync failed.
    package var failure: RemoteSettingsError? {
        if case .failure(let error) = result { error } else { nil }
    }

    /// Whether the sync stored a newer state.
    public var isChanged: Bool {
        if case .success(.updated) = result { true } else { false }
    }
}

extension CollectionSyncResult: CustomStringConvertible {
    /// A line such as `main/markets: updated to 2026-11-29T06:00:00.000Z`.
    public var description: String {
        switch result {
        case .success(.upToDate(let timestamp)): "\(collection): up to date, \(timestamp.rfc3339)"
        case .success(.updated(let timestamp)): "\(collection): updated to \(timestamp.rfc3339)"
        case .success(.notAsked(let timestamp)): "\(collection): not asked, \(timestamp.rfc3339)"
        case .failure(let error): "\(collection): failed: \(error)"
        }
    }
}

/// The outcome of a sync in terms of telemetry, for code that decides when to contact the server again.
package struct SyncUptake: Hashable, Sendable {
    package let status: UptakeEvent.Status
    /// The HTTP status code, if it is the reason that the sync failed.
    package let httpStatus: Int?

    init(_ status: UptakeEvent.Status, _ error: (any Error)?) {
        (self.status, httpStatus) = (status, (error as? Failure)?.status)
    }
}

/// The outcome of a successful sync for one collection.
///
/// Closed: no version adds a case.
public enum SyncOutcome: Hashable, Sendable {
    /// The local state was already the server's state. Nothing was stored.
    case upToDate(RemoteSettingsTimestamp)
    /// A newer state was verified and stored.
    case updated(RemoteSettingsTimestamp)
    /// The server was not asked: only packaged records are used (``RemoteSettingsConfig/isPackagedOnly``), or a local
    /// file replaces the collection (``RemoteSettingsConfig/overrides``).
    case notAsked(RemoteSettingsTimestamp)

    /// The collection's timestamp after the sync, in milliseconds since 1970.
    public var timestamp: RemoteSettingsTimestamp {
        switch self {
        case .upToDate(let timestamp), .updated(let timestamp), .notAsked(let timestamp): timestamp
        }
    }
}

/// The changes that a sync made to a collection, after the app's filters are applied. All arrays are sorted by id.
public struct RecordChanges: Hashable, Sendable {
    /// A changed record, in both versions.
    public struct Update: Hashable, Sendable {
        /// The record before the sync.
        public var old: RemoteSettingsRecord
        /// The record after the sync.
        public var new: RemoteSettingsRecord
    }

    /// All records after the sync.
    public var current: [RemoteSettingsRecord]
    /// Records that are new, or that now match this app's context.
    public var created: [RemoteSettingsRecord] = []
    /// Records that are in both states but differ.
    public var updated: [Update] = []
    /// Records that were deleted, or that no longer match this app's context.
    public var deleted: [RemoteSettingsRecord] = []

    /// Whether no record was created, updated or deleted.
    public var isEmpty: Bool { created.isEmpty && updated.isEmpty && deleted.isEmpty }

    /// Creates the changes as seen by the app.
    ///
    /// - Parameter isForApp: the app's filter. Its result depends only on the record's bytes, so records that are equal
    ///   in both states need not be checked.
    init(_ differences: [RecordDifference], current: [RemoteSettingsRecord], where isForApp: (Record) -> Bool) {
        self.current = current
        for difference in differences {
            let (old, new): (Record?, Record?) =
                switch difference {
                case .created(let record): (nil, record)
                case .updated(let old, let new): (old, new)
                case .deleted(let record): (record, nil)
                }
            switch (old.filter(isForApp), new.filter(isForApp)) {
            case (let old?, let new?): updated.append(Update(old: .init(old), new: .init(new)))
            case (nil, let new?): created.append(.init(new))
            case (let old?, nil): deleted.append(.init(old))
            case (nil, nil): break
            }
        }
    }
}

extension RecordChanges {
    /// Returns these changes and later ones, merged. A change that was undone is left out.
    func followed(by later: RecordChanges) -> RecordChanges {
        var changes: [String: (old: RemoteSettingsRecord?, new: RemoteSettingsRecord?)] = [:]
        for changed in [self, later] {
            func add(_ id: String, _ old: RemoteSettingsRecord?, _ new: RemoteSettingsRecord?) {
                let first = if let before = changes[id] { before.old } else { old }
                changes[id] = (first, new)
            }
            for record in changed.created { add(record.id, nil, record) }
            for update in changed.updated { add(update.new.id, update.old, update.new) }
            for record in changed.deleted { add(record.id, record, nil) }
        }
        var merged = RecordChanges([], current: later.current) { _ in true }
        for (_, change) in changes.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            switch change {
            case (let old?, let new?): if old != new { merged.updated.append(Update(old: old, new: new)) }
            case (nil, let new?): merged.created.append(new)
            case (let old?, nil): merged.deleted.append(old)
            case (nil, nil): break
            }
        }
        return merged
    }
}

extension Optional {
    fileprivate func filter(_ isIncluded: (Wrapped) -> Bool) -> Wrapped? {
        flatMap { isIncluded($0) ? $0 : nil }
    }
}

/// A sync that has just failed. A read that syncs only if there are no local records does not repeat it before
/// ``nextTry``.
///
/// Such a read is ``RemoteSettingsClient/fetchRecords(_:)`` with ``RemoteSettingsClient/Query/Sync/ifEmpty``.
public struct RecentFailure: Codable, Hashable, Sendable {
    /// The reason for the failure.
    public var error: RemoteSettingsError
    /// The time from which such a read uses the network again, by this device's clock: 5 s to 1 min after the failure.
    public var nextTry: RemoteSettingsTimestamp
}

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
