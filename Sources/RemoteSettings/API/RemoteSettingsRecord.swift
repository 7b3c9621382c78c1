import RemoteSettingsModel

/// A record of a collection.
///
/// Only the id is read ahead; everything else is read out of the collection's own bytes when it is asked for, anew each
/// time: keep what is needed more than once.
public struct RemoteSettingsRecord: Hashable, Sendable, Identifiable {
    let record: Record

    init(_ record: Record) {
        self.record = record
    }

    public var id: String { record.id }

    /// When the record last changed, in milliseconds since 1970; 0 where it does not say.
    public var lastModified: UInt64 { record.lastModified?.milliseconds ?? 0 }

    /// Always `false`: deleted records are not given.
    public var deleted: Bool { false }

    /// The record's file; `nil` where it has none, or does not describe it fully.
    public var attachment: Attachment? {
        guard let attachment = try? record.attachment() else { return nil }
        return Attachment(attachment)
    }

    /// JSON text of an object with every field but `id`, `last_modified`, `deleted` and `attachment`.
    public var fields: String { OtherFields.text(of: record.json) }

    /// The whole record as canonical JSON: the very bytes that the signature covers.
    public var json: Bytes { record.json }

    /// The value of one field; `nil` where the record has no such field.
    public subscript(field name: String) -> JSONValue? { record.field(name) }
}

extension RemoteSettingsRecord: CustomStringConvertible {
    public var description: String { record.json.text }
}

/// The members of a record that have no property of their own.
enum OtherFields {
    private static let named: Set<String> = ["id", "last_modified", "deleted", "attachment"]

    static func text(of json: Bytes) -> String {
        var output: [UInt8] = [UInt8(ascii: "{")]
        var reader = JSONReader(json, limits: Limits())
        do throws(JSONError) {
            try reader.beginObject()
            // Canonical JSON has no white space: a member begins right behind a bracket or comma.
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
