import NIOCore
import RemoteSettingsModel
import SnapshotOrigin
import UpdateEvents

/// One state of the monitor as clients are told of it, encoded once for all connections.
package struct Announcement: Sendable {
    /// An event of an event stream, as it goes over the wire.
    package struct Event: Sendable {
        /// For HTTP/1.0, where a body ends with the connection.
        package let plain: ByteBuffer
        /// For HTTP/1.1: one chunk (RFC 9112 §7.1).
        package let chunk: ByteBuffer

        package init(_ text: String) {
            plain = ByteBuffer(string: text)
            chunk = ByteBuffer(string: String(text.utf8.count, radix: 16) + "\r\n" + text + "\r\n")
        }
    }

    /// A number that grows by one with each announcement of this server, from 1.
    package let number: Int
    /// The timestamp with the collections that changed, for those who were told of the state before.
    package let change: Event
    /// The timestamp alone, for newcomers and for those who missed an announcement.
    package let present: Event
    /// The version of the monitor's broadcast, with its quotation marks.
    package let version: String
    /// The message that announces this version to clients of the push protocol.
    package let broadcast: ByteBuffer

    /// The most collections that an event names. Where more have changed, it names none: any may have changed.
    static let mostCollections = 256

    /// - Parameters:
    ///   - timestamp: the monitor's.
    ///   - changed: the collections that changed; `nil` where any may have.
    ///   - version: of the monitor's broadcast, with its quotation marks.
    package init(number: Int, timestamp: Timestamp, changed: [CollectionID]?, version: String) {
        self.number = number
        let id = "\(timestamp)"
        present = Event(UpdateEvent.update(timestamp: timestamp, collections: nil).text(id: id))
        if let changed, changed.count <= Self.mostCollections {
            change = Event(UpdateEvent.update(timestamp: timestamp, collections: changed).text(id: id))
        } else {
            change = present
        }
        self.version = version
        broadcast = ByteBuffer(bytes: PushReply.broadcast(version: version))
    }

    /// The announcement of what an origin now serves.
    ///
    /// - Parameter old: what was served before; `nil` at the start.
    /// - Returns: `nil` where no collection is new or has another timestamp: there is nothing to fetch.
    init?(number: Int, from old: Origin?, to new: Origin) {
        var changed: [CollectionID]?
        if let old {
            let known = Dictionary(old.collections.map { ($0.id, $0.timestamp) }) { first, _ in first }
            let found = new.collections.filter { known[$0.id] != $0.timestamp }.map(\.id)
            if found.isEmpty { return nil }
            changed = found
        }
        self.init(
            number: number, timestamp: new.monitorTimestamp, changed: changed, version: new.broadcastVersion)
    }
}
