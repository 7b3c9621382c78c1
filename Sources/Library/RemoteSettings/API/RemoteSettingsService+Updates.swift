import RemoteSettingsModel

extension RemoteSettingsService {
    /// Keeps the update channel open until ``stopUpdates()``, even if nobody listens.
    ///
    /// It is for an app that reads records and does not need to hear of changes. Does nothing if ``UpdatePolicy/off``
    /// is configured.
    public func startUpdates() { updates.set(isStarted: true) }

    /// Undoes ``startUpdates()``. The connection is closed unless somebody listens.
    public func stopUpdates() { updates.set(isStarted: false) }

    /// Closes the update channel until ``resumeUpdates()``, even if somebody listens.
    ///
    /// On Apple systems the library does this itself while the app is in the background.
    public func pauseUpdates() { updates.set(isPaused: true) }

    /// Undoes ``pauseUpdates()``. Changes published meanwhile are noticed when the connection is open again.
    ///
    /// A pause that follows a failed connection continues.
    public func resumeUpdates() { updates.set(isPaused: false) }

    /// Tells the service that the network has changed, so that it tries again at once.
    ///
    /// Reads that sync because nothing is held ask the server again (``CollectionStatus/recentFailure``), and the
    /// update channel reconnects. On Apple systems the library notices a change itself while the update channel is
    /// wanted.
    public func networkChanged() { updates.networkChanged() }

    /// The current state of the update channel. Does no I/O.
    public var updateStatus: UpdateStatus { updates.status }

    /// Reads the payload of a push message, and starts a sync if it announces something that is not held.
    ///
    /// The sync is of the collections that have clients. The call returns at once, and it works without an update
    /// channel. The sync begins after a random part of ``UpdatePolicy/jitter`` and uses the network. An app that
    /// the system has woken for the message must say when it is done. Such an app reads the message with
    /// ``RemoteSettingsPushMessage`` and awaits `syncCollections(expecting:)` instead.
    ///
    /// - Returns: whether the message is about Remote Settings.
    @discardableResult
    public func handlePushMessage(_ message: [AnyHashable: Any]) -> Bool {
        guard let message = RemoteSettingsPushMessage(message) else { return false }
        let collections = message.collection.flatMap { try? session.collectionID($0) }.map { [$0] }
        // A name that no collection can have belongs to somebody else's message.
        if message.collection != nil, collections == nil { return true }
        updates.announce(message.timestamp, changed: collections)
        return true
    }
}

/// A push message's announcement that something was published.
///
/// It is read from the payload's members `CONFIG_STATE` (`STALE`, as in Firebase's guide), `timestamp` (in milliseconds
/// since 1970, as a number or text), and `collection` (a name, or `bucket/name`).
public struct RemoteSettingsPushMessage: Hashable, Sendable {
    /// The timestamp that was announced; `nil` if the message names none.
    public let timestamp: RemoteSettingsTimestamp?
    /// The collection that was published; `nil` if it may be any.
    public let collection: String?

    /// Reads a payload. Does no I/O.
    ///
    /// - Parameter payload: the message's members, as the system hands them to the app.
    /// - Returns: `nil` if the message is about something else.
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
