import RemoteSettingsModel

/// What became of one collection in a sync.
public struct CollectionSyncResult: Hashable, Sendable {
    /// `bucket/collection`.
    public var collection: String
    public var result: Result<SyncOutcome, RemoteSettingsError>

    /// Whether the collection is now at the server's state.
    public var isSynced: Bool {
        if case .success = result { true } else { false }
    }
}

/// How a sync that succeeded left a collection.
public enum SyncOutcome: Hashable, Sendable {
    /// What is held is the server's state; nothing was stored.
    case upToDate(Timestamp)
    /// A newer state was verified and stored.
    case updated(Timestamp)

    /// The collection's timestamp now.
    public var timestamp: Timestamp {
        switch self {
        case .upToDate(let timestamp), .updated(let timestamp): timestamp
        }
    }
}
