import RemoteSettingsModel

extension RemoteSettingsService {
    /// Keeps the update channel open, whether or not anybody listens, until ``stopUpdates()``: for an app that reads records
    /// and does not need to hear of changes. Does nothing where ``UpdatePolicy/off`` is configured.
    public func startUpdates() { updates.set(isStarted: true) }

    /// Takes back ``startUpdates()``. The connection is closed unless somebody listens.
    public func stopUpdates() { updates.set(isStarted: false) }

    /// Closes the update channel until ``resumeUpdates()``, whoever listens. On Apple systems this happens by itself while
    /// the app is in the background.
    public func pauseUpdates() { updates.set(isPaused: true) }

    /// Takes back ``pauseUpdates()``. What was published meanwhile is noticed when the connection is open again. Pauses after
    /// connections that failed go on; where the channel was given up, it is tried once more.
    public func resumeUpdates() { updates.set(isPaused: false) }

    /// Tells the service that the network has changed, which is a reason to try again at once: reads that sync where nothing
    /// is held do so (``SnapshotStatus/recentFailure``), and connections to the update channel are made again. On Apple systems
    /// the library notices a change by itself while the update channel is wanted.
    public func networkChanged() { updates.networkChanged() }

    /// The present state of the update channel. Does no I/O.
    public var updateStatus: UpdateStatus { updates.status }

    /// Looks at the payload of a push message, and starts a sync of the collections that have clients where it announces
    /// something that is not held. Returns at once; works without an update channel too. Uses the network later.
    ///
    /// The sync begins after a random part of ``UpdatePolicy/longestDelay``. An app that the system has woken up for the
    /// message, and that must say when it is done, reads the message by ``RemoteSettingsPushMessage`` and awaits
    /// `syncCollections(expectedTimestamp:)` instead.
    ///
    /// - Returns: whether the message is about Remote Settings.
    @discardableResult
    public func handlePushMessage(_ message: [AnyHashable: Any]) -> Bool {
        guard let message = RemoteSettingsPushMessage(message) else { return false }
        let collections = message.collection.flatMap { try? session.collectionID($0) }.map { [$0] }
        // A name that no collection can have is about somebody else's.
        if message.collection != nil, collections == nil { return true }
        updates.announce(message.timestamp, changed: collections)
        return true
    }
}

/// What a push message says about Remote Settings: that something was published.
///
/// It is read from the payload's members `CONFIG_STATE` (`STALE`, as Firebase's guide has it), `timestamp` (in milliseconds
/// since 1970, as a number or text), and `collection` (a name, or `bucket/name`).
public struct RemoteSettingsPushMessage: Hashable, Sendable {
    /// The timestamp that was announced; `nil` where the message names none.
    public let timestamp: Timestamp?
    /// The collection that was published; `nil` where any may have been.
    public let collection: String?

    /// Does no I/O.
    ///
    /// - Parameter payload: the message's members, as the system hands them to the app.
    /// - Returns: `nil` for a message that is about something else.
    public init?(_ payload: [AnyHashable: Any]) {
        collection = payload["collection"] as? String
        timestamp = payload["timestamp"].flatMap(Self.timestamp)
        guard timestamp != nil || (payload["CONFIG_STATE"] as? String)?.uppercased() == "STALE" else { return nil }
    }

    /// A timestamp as a number, or as text with or without the quotation marks of an ETag.
    private static func timestamp(_ value: Any) -> Timestamp? {
        switch value {
        case let text as String: return Timestamp(text.filter { $0 != "\"" })
        case let number as any BinaryInteger: return UInt64(exactly: number).map(Timestamp.init(milliseconds:))
        case let number as Double: return UInt64(exactly: number).map(Timestamp.init(milliseconds:))
        default: return nil
        }
    }
}
