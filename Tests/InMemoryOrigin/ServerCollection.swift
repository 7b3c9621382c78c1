import Foundation
import RemoteSettingsHTTP
import RemoteSettingsModel

/// A collection of an ``OriginTransport``, for a test to write to.
package struct ServerCollection: Sendable {
    package let server: OriginTransport
    package let collection: CollectionID

    package var id: String { "\(collection)" }
    package var bucket: String { collection.bucket }
    package var name: String { collection.name }

    /// Creates a record or replaces it. `last_modified` is the time of the write unless it is among the fields, as it is
    /// for a record that a server copies from another.
    package func put(_ record: String, _ fields: [String: Any] = [:]) throws {
        let given = (fields["last_modified"] as? NSNumber).map { Timestamp(milliseconds: $0.uint64Value) }
        let json = try JSONSerialization.data(withJSONObject: fields, options: .sortedKeys)
        change(at: given) { authored, time in
            authored.edit(at: time) { $0[record] = Self.record(record, String(decoding: json, as: UTF8.self), time) }
        }
    }

    /// Writes several records at once: there is no state in between.
    package func put(_ records: [String], _ fields: [String: Any]) throws {
        let json = String(decoding: try JSONSerialization.data(withJSONObject: fields), as: UTF8.self)
        change { authored, time in
            authored.edit(at: time) { for record in records { $0[record] = Self.record(record, json, time) } }
        }
    }

    /// Writes several records at once, each with its own fields: there is no state in between.
    package func put(all records: [String: [String: Any]]) throws {
        let texts = try records.mapValues { fields in
            String(decoding: try JSONSerialization.data(withJSONObject: fields, options: .sortedKeys), as: UTF8.self)
        }
        change { authored, time in
            authored.edit(at: time) { for (id, text) in texts { $0[id] = Self.record(id, text, time) } }
        }
    }

    /// The text of a record from that of its fields, an object.
    private static func record(_ id: String, _ fields: String, _ time: Timestamp) -> String {
        let last = fields.contains("\"last_modified\":") ? "" : ",\"last_modified\":\(time)"
        return #"{"id":"\#(id)"\#(last)"# + (fields == "{}" ? "}" : ",\(fields.dropFirst())")
    }

    package func delete(_ record: String) {
        change { authored, time in authored.edit(at: time) { $0[record] = nil } }
    }

    package func deleteAll() {
        change { authored, time in authored.edit(at: time) { $0 = [:] } }
    }

    /// Sets an attachment. A record that is there keeps its other members.
    package func attach(_ content: Data, to record: String) throws {
        try attach(content, to: record, of: [:])
    }

    /// - Parameter fields: the record's other members, where it is new.
    package func attach(_ content: Data, to record: String, of fields: [String: Any]) throws {
        let file = Bytes(Array(content))
        let digest = SHA256Digest(hashing: file)
        let attachment: [String: Any] = [
            "filename": "f.bin", "mimetype": "application/octet-stream", "size": content.count, "hash": digest.hex,
            "location": "\(bucket)-workspace/\(name)/\(digest.hex.prefix(32)).bin",
        ]
        let present = server.state.withLock { $0.collections[collection]?.records[record] }
        var members = fields
        if let present, let object = try JSONSerialization.jsonObject(with: Data(present.utf8)) as? [String: Any] {
            members = object
        }
        members["attachment"] = attachment
        members["id"] = nil
        members["last_modified"] = nil
        server.state.withLock { _ = $0.collections[collection]?.add(file) }
        try put(record, members)
    }

    /// Replaces everything, at a timestamp that another server gave.
    ///
    /// - Parameter records: JSON objects by id.
    package func load(_ records: [String: String], files: [Bytes], timestamp: Timestamp) {
        change(at: timestamp) { authored, time in
            authored = AuthoredCollection(id: collection, timestamp: time, offersZip: false)
            for file in files { _ = authored.add(file) }
            authored.edit(at: time) { $0 = records }
        }
    }

    /// Deletes the collection itself.
    package func deleteCollection() { server.state.withLock { $0.collections[collection] = nil } }

    /// Makes the collection again after ``deleteCollection()``.
    package func create() throws { _ = try server.makeCollection(id: id) }

    /// Signs the same data again, as a server does from time to time.
    package func signAgain() { change { authored, _ in authored.signAgain() } }

    /// Signs the data, and what will be written, in another way.
    package func sign(_ signatures: [SignatureForm]) { change { authored, _ in authored.sign(signatures) } }

    /// Drops tombstones and older states: a delta can only begin at the present one.
    package func forgetOlderStates() { change { authored, _ in authored.forgetOlderStates() } }

    /// Makes the zip of the attachments; see ``AuthoredCollection/buildZip(omit:corrupt:)``.
    package func buildZip(omit: [String] = [], corrupt: [String] = []) throws {
        try server.state.withLock { try $0.collections[collection]?.buildZip(omit: omit, corrupt: corrupt) }
    }

    private func change(at time: Timestamp? = nil, _ change: (inout AuthoredCollection, Timestamp) -> Void) {
        server.state.withLock { state in
            let time = time ?? state.nextTime()
            guard var authored = state.collections[collection] else { return }
            change(&authored, time)
            state.collections[collection] = authored
        }
    }

    /// The whole changeset as the server answers it now. The request is not logged.
    package func changeset() throws -> [String: Any] {
        let target = "/v1/buckets/\(bucket)/collections/\(name)/changeset?_expected=0"
        let body = try server.reply(to: target, headers: HTTPHeaders()).body
        return try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any] ?? [:]
    }

    package func timestamp() throws -> UInt64 {
        (try changeset()["timestamp"] as? NSNumber)?.uint64Value ?? 0
    }

    /// The ids of the server's records with their `last_modified`.
    package func state() throws -> [String: UInt64] {
        var state: [String: UInt64] = [:]
        for record in try changeset()["changes"] as? [[String: Any]] ?? [] {
            guard let id = record["id"] as? String else { continue }
            state[id] = (record["last_modified"] as? NSNumber)?.uint64Value
        }
        return state
    }
}
