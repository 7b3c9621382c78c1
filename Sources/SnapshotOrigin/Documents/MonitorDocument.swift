import RemoteSettingsModel
import SnapshotBundle

/// The monitor's changeset: every collection with the time of its last change, newest first.
struct MonitorDocument: Sendable {
    struct Entry: Sendable {
        let id: CollectionID
        let timestamp: Timestamp
        /// The entry's id.
        let uuid: String
        /// The entry's JSON.
        let json: String
    }

    /// The time of the newest change in any collection; 0 if there are no collections.
    let timestamp: Timestamp
    let entries: [Entry]

    init(_ collections: [(id: CollectionID, timestamp: Timestamp)], host: String) {
        entries = collections.sorted { ($1.timestamp, $0.id) < ($0.timestamp, $1.id) }.map { id, timestamp in
            var quoted: [UInt8] = []
            JSONString.append(host, .ascii, to: &quoted)
            let uuid = Self.uuid(id)
            let json =
                #"{"id":"\#(uuid)","last_modified":\#(timestamp),"bucket":"\#(id.bucket)","#
                + #""collection":"\#(id.name)","host":\#(String(decoding: quoted, as: UTF8.self))}"#
            return Entry(id: id, timestamp: timestamp, uuid: uuid, json: json)
        }
        timestamp = entries.first?.timestamp ?? Timestamp(milliseconds: 0)
    }

    /// - Parameters:
    ///   - since: lists only collections that changed after this time.
    ///   - bucket: lists only collections of this bucket. `collection` restricts the name in the same way.
    ///   - limit: the most entries; the newest are kept.
    func body(since: Timestamp?, bucket: String?, collection: String?, limit: Int? = nil) -> Bytes {
        let chosen = entries.lazy.filter { entry in
            since.map { entry.timestamp > $0 } ?? true && bucket ?? entry.id.bucket == entry.id.bucket
                && collection ?? entry.id.name == entry.id.name
        }
        return Bytes(
            utf8: #"{"metadata":{},"timestamp":\#(timestamp),"changes":["#
                + chosen.prefix(limit ?? entries.count).map(\.json).joined(separator: ",") + "]}")
    }

    /// The entries as objects of a list.
    var listed: [ListedObject] {
        entries.map { ListedObject(id: $0.uuid, lastModified: $0.timestamp, json: Bytes(utf8: $0.json)) }
    }

    /// The members of an entry.
    static let fields: Set<String> = ["id", "last_modified", "bucket", "collection", "host", "deleted"]

    /// An id that depends only on the collection, in the form of a version 8 UUID (RFC 9562 §5.8).
    private static func uuid(_ id: CollectionID) -> String {
        var bytes = Array(SHA256Digest(hashing: Bytes(utf8: "\(id)")).bytes.prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        let hex = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        var text = ""
        for (index, digit) in hex.enumerated() {
            if [8, 12, 16, 20].contains(index) { text.append("-") }
            text.append(digit)
        }
        return text
    }
}
