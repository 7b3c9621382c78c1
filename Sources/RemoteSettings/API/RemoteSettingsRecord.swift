import RemoteSettingsModel

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A record of a collection.
///
/// Only the id is read in advance. Everything else is parsed out of the collection's own bytes each time that it is asked
/// for: keep a value that is needed more than once.
public struct RemoteSettingsRecord: Hashable, Sendable, Identifiable {
    let record: Record

    init(_ record: Record) {
        self.record = record
    }

    public var id: String { record.id }

    /// When the record last changed, in milliseconds since 1970; 0 where the record does not state it.
    public var lastModified: UInt64 { record.lastModified?.milliseconds ?? 0 }

    /// Always `false`: deleted records are never returned.
    public var deleted: Bool { false }

    /// The record's attachment; `nil` where it has none, or does not describe it fully.
    public var attachment: Attachment? {
        guard let attachment = try? record.attachment() else { return nil }
        return Attachment(attachment)
    }

    /// The JSON text of an object with every field except `id`, `last_modified`, `deleted` and `attachment`.
    public var fields: String { OtherFields.text(of: record.json) }

    /// The whole record as canonical JSON: exactly the bytes that the signature covers.
    public var json: Bytes { record.json }

    /// The value of one field; `nil` where the record has no such field.
    public subscript(field name: String) -> JSONValue? { record.field(name) }
}

extension RemoteSettingsRecord: CustomStringConvertible {
    public var description: String { record.json.text }
}

extension RemoteSettingsRecord {
    /// The record as a type of the app, decoded from all of its JSON, `id` and `last_modified` included. No I/O.
    ///
    /// - Throws: `DecodingError`.
    public func decode<Value: Decodable>(
        as type: Value.Type = Value.self, decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        try decoder.decode(type, from: json.data)
    }
}

extension RemoteSettingsClient {
    /// The records of ``getRecords()`` as a type of the app; `nil` where nothing is held. Never uses the network; does I/O
    /// as ``getRecords()`` does.
    ///
    /// - Throws: `DecodingError` for the first record that cannot be decoded.
    public func records<Value: Decodable>(
        as type: Value.Type = Value.self, decoder: JSONDecoder = JSONDecoder()
    ) throws -> [Value]? {
        try getRecords()?.map { try $0.decode(as: type, decoder: decoder) }
    }
}

/// The members of a record that have no property of their own.
enum OtherFields {
    private static let named: Set<String> = ["id", "last_modified", "deleted", "attachment"]

    static func text(of json: Bytes) -> String {
        var output: [UInt8] = [UInt8(ascii: "{")]
        var reader = JSONReader(json, limits: Limits())
        do throws(JSONError) {
            try reader.beginObject()
            // Canonical JSON has no white space: a member begins right after a brace or comma.
            var start = reader.offset
            while let key = try reader.nextKey() {
                try reader.skipValue()
                let end = reader.offset
                if !named.contains(key) {
                    if output.count > 1 { output.append(UInt8(ascii: ",")) }
                    let member = json[start..<end]
                    unsafe member.withUnsafeBytes { unsafe output.append(contentsOf: $0) }
                }
                start = end + 1
            }
        } catch {
            return "{}"
        }
        output.append(UInt8(ascii: "}"))
        return String(decoding: output, as: UTF8.self)
    }
}
