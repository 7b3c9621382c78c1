import RemoteSettingsModel
import SnapshotBundle

/// The monitor: every collection with the time of its last change, newest first.
struct MonitorDocument: Sendable {
    struct Entry: Sendable {
        let id: CollectionID
        let timestamp: Timestamp
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
            let json =
                #"{"id":"\#(Self.uuid(id))","last_modified":\#(timestamp),"bucket":"\#(id.bucket)","#
                + #""collection":"\#(id.name)","host":\#(String(decoding: quoted, as: UTF8.self))}"#
            return Entry(id: id, timestamp: timestamp, json: json)
        }
        timestamp = entries.first?.timestamp ?? Timestamp(milliseconds: 0)
    }

    /// Returns the monitor's changeset.
    ///
    /// - Parameters:
    ///   - since: only collections that have changed after this time are listed; `nil` for all.
    ///   - bucket: the bucket of the listed collections; `nil` for all. `collection` restricts the name in the same
    ///     way.
    ///   - limit: the largest number of entries; `nil` for all. The newest entries are kept.
    func body(since: Timestamp?, bucket: String?, collection: String?, limit: Int? = nil) -> Bytes {
        Bytes(
            utf8: #"{"metadata":{},"timestamp":\#(timestamp),"changes":["#
                + json(since: since, bucket: bucket, collection: collection, limit: limit) + "]}")
    }

    /// Returns the monitor as a Kinto list, with the parameters of ``body(since:bucket:collection:limit:)``.
    func list(since: Timestamp?, bucket: String?, collection: String?) -> Bytes {
        Bytes(utf8: #"{"data":["# + json(since: since, bucket: bucket, collection: collection, limit: nil) + "]}")
    }

    private func json(since: Timestamp?, bucket: String?, collection: String?, limit: Int?) -> String {
        let chosen = entries.lazy.filter { entry in
            since.map { entry.timestamp > $0 } ?? true
                && bucket.map { $0.utf8.elementsEqual(entry.id.bucket.utf8) } ?? true
                && collection.map { $0.utf8.elementsEqual(entry.id.name.utf8) } ?? true
        }
        return chosen.prefix(limit ?? entries.count).map(\.json).joined(separator: ",")
    }

    /// Returns an id that depends only on the collection, in the format of a version 8 UUID (RFC 9562 §5.8).
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
