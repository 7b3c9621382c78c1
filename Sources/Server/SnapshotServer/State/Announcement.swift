import NIOCore
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotOrigin

/// The announcement of a new state of the monitor, encoded once for all connections.
package struct Announcement: Sendable {
    /// An event of an event stream, as bytes on the wire.
    package struct Event: Sendable {
        /// The event for HTTP/1.0, where closing the connection terminates the body.
        package let plain: ByteBuffer
        /// The event for HTTP/1.1, as one chunk (RFC 9112 §7.1).
        package let chunk: ByteBuffer

        package init(_ text: String) {
            plain = ByteBuffer(string: text)
            chunk = ByteBuffer(string: String(text.utf8.count, radix: 16) + "\r\n" + text + "\r\n")
        }
    }

    /// The number of this announcement. Each server numbers its announcements from 1.
    package let number: Int
    /// The timestamp and the changed collections, for clients that were notified of the previous state.
    package let change: Event
    /// Only the timestamp, for new clients and for clients that missed an announcement.
    package let present: Event

    /// The maximum number of collections listed in an event. If more have changed, the event lists none, which means
    /// that any collection may have changed.
    static let mostCollections = 256

    /// Encodes an announcement.
    ///
    /// - Parameters:
    ///   - timestamp: the monitor's timestamp.
    ///   - changed: the collections that changed; `nil` if any may have.
    package init(number: Int, timestamp: Timestamp, changed: [CollectionID]?) {
        self.number = number
        let id = "\(timestamp)"
        present = Event(UpdateEvent.update(timestamp: timestamp, collections: nil).text(id: id))
        if let changed, changed.count <= Self.mostCollections {
            change = Event(UpdateEvent.update(timestamp: timestamp, collections: changed).text(id: id))
        } else {
            change = present
        }
    }

    /// Creates the announcement of the current state.
    ///
    /// - Parameter old: the previous state; `nil` at startup.
    /// - Returns: `nil` if no collection is new or has a different timestamp, because there is nothing to fetch.
    init?(number: Int, from old: Origin?, to new: Origin) {
        var changed: [CollectionID]?
        if let old {
            let known = Dictionary(old.collections.map { ($0.id, $0.timestamp) }) { first, _ in first }
            let found = new.collections.filter { known[$0.id] != $0.timestamp }.map(\.id)
            if found.isEmpty { return nil }
            changed = found
        }
        self.init(number: number, timestamp: new.monitorTimestamp, changed: changed)
    }
}
