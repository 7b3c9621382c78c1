import Foundation
import RemoteSettings
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// A collection of an ``OriginTransport`` that a test can write to.
public struct ServerCollection: Sendable {
    package let server: OriginTransport
    /// The collection's bucket and name.
    package let collection: CollectionID

    /// The collection's full name, `bucket/name`.
    public var id: String { "\(collection)" }
    /// The bucket's name, before the slash.
    public var bucket: String { collection.bucket }
    /// The collection's name, after the slash. An app uses this name.
    public var name: String { collection.name }

    /// Creates or replaces a record.
    ///
    /// `last_modified` is the time of the write, unless the fields contain it, as in a record copied from another
    /// server.
    public func put(_ record: String, _ fields: [String: Any] = [:]) throws {
        let given = (fields["last_modified"] as? NSNumber).map { Timestamp(milliseconds: $0.uint64Value) }
        let json = try JSONSerialization.data(withJSONObject: fields, options: .sortedKeys)
        change(at: given) { authored, time in
            authored.edit(at: time) { $0[record] = Self.record(record, String(decoding: json, as: UTF8.self), time) }
        }
    }

    /// Writes several records with the same fields in one step, without intermediate states.
    public func put(_ records: [String], _ fields: [String: Any]) throws {
        let json = String(decoding: try JSONSerialization.data(withJSONObject: fields), as: UTF8.self)
        change { authored, time in
            authored.edit(at: time) { for record in records { $0[record] = Self.record(record, json, time) } }
        }
    }

    /// Writes several records, each with different fields, in one step, without intermediate states.
    public func put(all records: [String: [String: Any]]) throws {
        let texts = try records.mapValues { fields in
            String(decoding: try JSONSerialization.data(withJSONObject: fields, options: .sortedKeys), as: UTF8.self)
        }
        change { authored, time in
            authored.edit(at: time) { for (id, text) in texts { $0[id] = Self.record(id, text, time) } }
        }
    }

    /// Returns the JSON of a record, given the JSON object with its fields.
    private static func record(_ id: String, _ fields: String, _ time: Timestamp) -> String {
        let last = fields.contains("\"last_modified\":") ? "" : ",\"last_modified\":\(time)"
        return #"{"id":"\#(id)"\#(last)"# + (fields == "{}" ? "}" : ",\(fields.dropFirst())")
    }

    /// Replaces all records with those in a JSON document: an array of records, or an object with such an array in the
    /// member `data`.
    ///
    /// - Throws: an error if the document has neither form, or if a record has no id.
    public func load(json: String) throws {
        let document = try JSONSerialization.jsonObject(with: Data(json.utf8))
        let list = (document as? [String: Any])?["data"] ?? document
        guard let records = list as? [[String: Any]] else {
            throw RemoteSettingsError.other(
                reason: "\(id): the JSON must be an array of records, or an object with the array in \"data\"")
        }
        var fields: [String: [String: Any]] = [:]
        for var record in records {
            guard let id = record.removeValue(forKey: "id") as? String else {
                throw RemoteSettingsError.other(reason: "\(self.id): each record must have an id, found \(record)")
            }
            fields[id] = record
        }
        deleteAll()
        try put(all: fields)
    }

    /// Replaces the collection with a bundle's state and attachments. The state is signed with the server's key.
    ///
    /// - Parameter content: the content of a `.zip` file written by `rsdump refresh`.
    /// - Throws: an error if it is not a bundle.
    public func load(bundle content: Data) throws {
        let reader = try BundleReader(bytes: Bytes(Array(content)), name: id)
        let payload = try reader.payload()
        let files = try reader.attachments.compactMap { try reader.attachment($0) }
        let records = payload.records.map { ($0.id, $0.json.text) }
        load(Dictionary(records) { first, _ in first }, files: files, timestamp: payload.timestamp)
    }

    /// Writes a parameter of remote config.
    ///
    /// Without a filter, it writes the default value. The record's id is then the key, or an id derived from the key if
    /// that is not a valid id. With a filter, it writes a value for the apps that match the filter.
    public func put(parameter key: String, _ value: Any, filter: String? = nil, priority: Int = 0) throws {
        let id = RecordIdentifier.derived(from: key)
        guard let filter else { return try put(id, ["key": key, "value": value]) }
        let name = "\(id)-\(SHA256Digest(hashing: Bytes(utf8: filter)).hex.prefix(8))"
        try put(name, ["key": key, "value": value, "filter_expression": filter, "priority": priority])
    }

    /// Deletes a record.
    public func delete(_ record: String) {
        change { authored, time in authored.edit(at: time) { $0[record] = nil } }
    }

    /// Deletes all records.
    public func deleteAll() {
        change { authored, time in authored.edit(at: time) { $0 = [:] } }
    }

    /// Sets an attachment. An existing record keeps its other fields.
    public func attach(_ content: Data, to record: String) throws {
        try attach(content, to: record, of: [:])
    }

    /// Sets an attachment.
    ///
    /// - Parameters:
    ///   - content: the attachment's bytes.
    ///   - record: the record's id.
    ///   - fields: the record's other fields, used if the record is new.
    public func attach(_ content: Data, to record: String, of fields: [String: Any]) throws {
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

    /// Replaces the whole collection, as a copy of a collection on another server.
    ///
    /// - Parameter records: the records as JSON objects, by id.
    package func load(_ records: [String: String], files: [Bytes], timestamp: Timestamp) {
        change(at: timestamp) { authored, time in
            authored = AuthoredCollection(id: collection, timestamp: time, offersZip: false)
            for file in files { _ = authored.add(file) }
            authored.edit(at: time) { $0 = records }
        }
    }

    /// Deletes the collection itself.
    public func deleteCollection() { server.state.withLock { $0.collections[collection] = nil } }

    /// Creates the collection again after ``deleteCollection()``.
    public func create() throws { _ = try server.makeCollection(id: id) }

    /// Signs the same data again, as a server does from time to time.
    package func signAgain() { change { authored, _ in authored.signAgain() } }

    /// Changes the signatures of the current data and of later writes.
    public func sign(_ signatures: [SignatureForm]) { change { authored, _ in authored.sign(signatures) } }

    /// Removes tombstones and older states. A delta is then possible only from the current state.
    package func forgetOlderStates() { change { authored, _ in authored.forgetOlderStates() } }

    /// Creates the ZIP file of the attachments, like ``AuthoredCollection/buildZip(omit:corrupt:)``.
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

    /// Returns the whole changeset that the server would send now. The request is not logged.
    package func changeset() throws -> [String: Any] {
        let target = "/v1/buckets/\(bucket)/collections/\(name)/changeset?_expected=0"
        let body = try server.reply(to: target, headers: HTTPHeaders()).body
        return try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any] ?? [:]
    }

    /// Returns the collection's timestamp; the beginning of 1970 if it was deleted.
    public func timestamp() throws -> RemoteSettingsTimestamp {
        Timestamp(milliseconds: (try changeset()["timestamp"] as? NSNumber)?.uint64Value ?? 0)
    }

    /// Returns the ids of the server's records with their `last_modified`, in milliseconds since 1970.
    public func state() throws -> [String: UInt64] {
        var state: [String: UInt64] = [:]
        for record in try changeset()["changes"] as? [[String: Any]] ?? [] {
            guard let id = record["id"] as? String else { continue }
            state[id] = (record["last_modified"] as? NSNumber)?.uint64Value
        }
        return state
    }
}
