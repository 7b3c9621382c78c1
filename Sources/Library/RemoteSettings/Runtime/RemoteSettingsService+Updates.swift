import RemoteSettingsModel

extension RemoteSettingsService {
    /// Keeps the update channel open until ``stopUpdates()``, even without listeners.
    ///
    /// Call it in an app that reads current records without observing changes. Does nothing if
    /// ``RemoteSettingsConfig/UpdatePolicy/off`` is configured.
    public func startUpdates() { updates.set(isStarted: true) }

    /// Undoes ``startUpdates()``. The connection is closed unless there are listeners.
    public func stopUpdates() { updates.set(isStarted: false) }

    /// Closes the update channel until ``resumeUpdates()``, even if there are listeners.
    ///
    /// On Apple systems, the library does this automatically while the app is in the background.
    public func pauseUpdates() { updates.set(isPaused: true) }

    /// Undoes ``pauseUpdates()``. Changes published in the meantime are noticed when the connection is open again.
    ///
    /// If the last connection failed, the wait before the next attempt is not shortened.
    public func resumeUpdates() { updates.set(isPaused: false) }

    /// Notifies the service that the network has changed, so that it tries to connect at once.
    ///
    /// Reads that sync because there are no local records contact the server again
    /// (``CollectionStatus/recentFailure``), and the update channel reconnects. On Apple systems, the library detects
    /// network changes itself while the update channel is in use.
    public func networkChanged() { updates.networkChanged() }

    /// The current state of the update channel. Does no I/O.
    public var updateStatus: UpdateStatus { updates.status }

    /// Handles the payload of a push message, and starts a sync if it announces new data.
    ///
    /// The sync covers the collections that have clients. This method returns at once; the sync starts after a random
    /// part of ``RemoteSettingsConfig/UpdatePolicy/jitter`` and uses the network. No update channel is needed.
    ///
    /// An app that the system has woken for the message must report when it is done. Such an app should parse the
    /// message with ``RemoteSettingsPushMessage`` and await `syncCollections(expecting:)` instead.
    ///
    /// - Returns: whether the message concerns Remote Settings.
    @discardableResult
    public func handlePushMessage(_ message: [AnyHashable: Any]) -> Bool {
        guard let message = RemoteSettingsPushMessage(message) else { return false }
        let collections = message.collection.flatMap { try? session.collectionID($0) }.map { [$0] }
        // The name is not valid for a collection, so there is nothing to sync.
        if message.collection != nil, collections == nil { return true }
        updates.announce(message.timestamp, changed: collections)
        return true
    }
}

/// A push message that announces new data on the server.
///
/// It is parsed from these members of the payload: `CONFIG_STATE` (`STALE`, as in Firebase's guide), `timestamp` (in
/// milliseconds since 1970, as a number or string), and `collection` (a name, or `bucket/name`).
public struct RemoteSettingsPushMessage: Hashable, Sendable {
    /// The announced timestamp; `nil` if the message does not contain one.
    public let timestamp: RemoteSettingsTimestamp?
    /// The changed collection; `nil` if any collection may have changed.
    public let collection: String?

    /// Parses a payload. Does no I/O.
    ///
    /// - Parameter payload: the message's payload, as delivered by the system.
    /// - Returns: `nil` if the message does not concern Remote Settings.
    public init?(_ payload: [AnyHashable: Any]) {
        collection = payload["collection"] as? String
        timestamp = payload["timestamp"].flatMap(Self.timestamp)
        guard timestamp != nil || (payload["CONFIG_STATE"] as? String)?.uppercased() == "STALE" else { return nil }
    }

    /// Parses a timestamp that is a number, or a string with or without the quotation marks of an ETag.
    private static func timestamp(_ value: Any) -> Timestamp? {
        switch value {
        case let text as String: return Timestamp(text.filter { $0 != "\"" })
        case let number as any BinaryInteger: return UInt64(exactly: number).map(Timestamp.init(milliseconds:))
        case let number as Double: return UInt64(exactly: number).map(Timestamp.init(milliseconds:))
        default: return nil
        }
    }
}
