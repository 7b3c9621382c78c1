import RemoteSettingsHTTP
import RemoteSettingsModel

/// The outcome of a sync for one collection.
public struct CollectionSyncResult: Hashable, Sendable {
    /// `bucket/collection`.
    public var collection: String
    /// How the sync left the collection, or why it failed. After a failure, the records that were held are still used.
    public var result: Result<SyncOutcome, RemoteSettingsError>
    /// How telemetry sees the outcome; `nil` if nothing was attempted.
    package var uptake: SyncUptake?

    init(_ id: CollectionID, _ result: Result<SyncOutcome, RemoteSettingsError>, _ uptake: SyncUptake? = nil) {
        (collection, self.result, self.uptake) = ("\(id)", result, uptake)
    }

    /// - Parameter error: why the list of collections could not be fetched.
    init(_ id: CollectionID, _ error: any Error) {
        self.init(id, .failure(RemoteSettingsError(error)), SyncUptake(UptakeEvent.Status(error), error))
    }

    /// Whether the collection is at the server's state now.
    public var isSynced: Bool {
        if case .success = result { true } else { false }
    }

    /// Whether the sync has stored a newer state.
    public var isChanged: Bool {
        if case .success(.updated) = result { true } else { false }
    }
}

/// An outcome of a sync in the words of telemetry, for whoever decides when to ask the server again.
package struct SyncUptake: Hashable, Sendable {
    package let status: UptakeEvent.Status
    /// The status of the server's answer, if that is why the sync failed.
    package let httpStatus: Int?

    init(_ status: UptakeEvent.Status, _ error: (any Error)?) {
        (self.status, httpStatus) = (status, (error as? HTTPError)?.status)
    }
}

/// How a sync that succeeded left a collection.
///
/// Closed: no version adds a case.
public enum SyncOutcome: Hashable, Sendable {
    /// What was held is already the server's state. Nothing was stored.
    case upToDate(RemoteSettingsTimestamp)
    /// A newer state was verified and stored.
    case updated(RemoteSettingsTimestamp)

    /// The collection's timestamp after the sync, in milliseconds since 1970.
    public var timestamp: RemoteSettingsTimestamp {
        switch self {
        case .upToDate(let timestamp), .updated(let timestamp): timestamp
        }
    }
}

/// What a sync changed in a collection, seen through the app's filters. All lists are sorted by id.
public struct RecordChanges: Hashable, Sendable {
    /// A record that has changed, in both versions.
    public struct Update: Hashable, Sendable {
        /// The record as it was.
        public var old: RemoteSettingsRecord
        /// The record as it is now.
        public var new: RemoteSettingsRecord
    }

    /// All records after the sync.
    public var current: [RemoteSettingsRecord]
    /// Records that did not exist before, or that were not for this app.
    public var created: [RemoteSettingsRecord] = []
    /// Records that exist in both states and differ.
    public var updated: [Update] = []
    /// Records that no longer exist, or that are no longer for this app.
    public var deleted: [RemoteSettingsRecord] = []

    /// Whether no record was created, updated or deleted.
    public var isEmpty: Bool { created.isEmpty && updated.isEmpty && deleted.isEmpty }

    /// - Parameter isForApp: the app's filter. It depends on the record's bytes only, so records that are equal in both
    ///   states need not be checked.
    init(
        _ differences: [RecordDifference], current: [RemoteSettingsRecord], where isForApp: (Record) -> Bool
    ) {
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
    /// These changes and the later ones as one. A change that was changed back is left out.
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
