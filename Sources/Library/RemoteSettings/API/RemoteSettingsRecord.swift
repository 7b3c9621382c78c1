import RemoteSettingsModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A record of a collection.
///
/// Every property, `id` included, is read from the collection's own bytes each time that it is used. Keep a value that
/// you need more than once, such as a dictionary of the records by their ids.
public struct RemoteSettingsRecord: Hashable, Sendable, Identifiable {
    private(set) var record: Record
    /// Only a record that an app has made has it.
    private var given: GivenFields?

    init(_ record: Record) {
        self.record = record
    }

    /// A record that no server has sent, for the tests of an app.
    ///
    /// - Parameters:
    ///   - id: the record's id.
    ///   - lastModified: in milliseconds since 1970.
    ///   - deleted: whether it is a tombstone.
    ///   - attachment: what the record says of its file.
    ///   - fields: the JSON text of an object with the record's other fields. Any other text stays what ``fields``
    ///     answers; the record has no other fields then.
    public init(
        id: String, lastModified: UInt64, deleted: Bool = false, attachment: RemoteSettingsAttachment? = nil,
        fields: String = "{}"
    ) {
        func member(_ key: String, _ value: JSONValue) -> JSONValue.Member { .init(key: key, value: value) }
        var members = [member("id", .string(id)), member("last_modified", .number(JSONNumber(lastModified)))]
        if deleted { members.append(member("deleted", .bool(true))) }
        if let attachment {
            let described = JSONValue.object([
                member("filename", .string(attachment.filename)), member("hash", .string(attachment.hash)),
                member("location", .string(attachment.location)), member("mimetype", .string(attachment.mimetype)),
                member("size", .number(JSONNumber(attachment.size))),
            ])
            members.append(member("attachment", described))
        }
        func canonical(_ members: [JSONValue.Member]) throws(FormatError) -> Bytes {
            try CanonicalJSON.canonicalize(Bytes(JSONText.compact(.object(members))), limits: Limits())
        }
        do throws(FormatError) {
            let value = try JSONValue(parsing: Bytes(utf8: fields), limits: Limits())
            guard case .object(let others) = value else {
                throw FormatError(.wrongType(expected: "an object", found: value.kind), at: 0)
            }
            let named = OtherFields.named
            self.init(Record(id: id, json: try canonical(members + others.filter { !named.contains($0.key.exact) })))
        } catch {
            self.init(Record(id: id, json: (try? canonical(members)) ?? Bytes(utf8: "{}")))
            given = GivenFields(text: fields)
        }
    }

    /// The record's id, unique in its collection: letters, digits, `-` and `_`, at most 255 characters.
    public var id: String {
        get { record.id }
        set { change(id: newValue) }
    }

    /// When the record last changed, in milliseconds since 1970; 0 if the record does not state it.
    public var lastModified: UInt64 {
        get { record.lastModified?.milliseconds ?? 0 }
        set { change(lastModified: newValue) }
    }

    /// Whether the record says that it is deleted. Records of a client never do.
    public var deleted: Bool {
        get { record.field("deleted")?.bool ?? false }
        set { change(deleted: newValue) }
    }

    /// The record's attachment; `nil` if it has none, or does not describe it fully.
    public var attachment: RemoteSettingsAttachment? {
        get {
            guard let attachment = try? record.attachment() else { return nil }
            return RemoteSettingsAttachment(attachment)
        }
        set { change(attachment: .some(newValue)) }
    }

    /// The JSON text of an object with every field except `id`, `last_modified`, `deleted` and `attachment`.
    public var fields: String {
        get { given?.text ?? OtherFields.text(of: record.json) }
        set { change(fields: newValue) }
    }

    /// Makes the record anew, as ``init(id:lastModified:deleted:attachment:fields:)`` does.
    private mutating func change(
        id: String? = nil, lastModified: UInt64? = nil, deleted: Bool? = nil,
        attachment: RemoteSettingsAttachment?? = nil,
        fields: String? = nil
    ) {
        self = RemoteSettingsRecord(
            id: id ?? self.id, lastModified: lastModified ?? self.lastModified, deleted: deleted ?? self.deleted,
            attachment: attachment ?? self.attachment, fields: fields ?? self.fields)
    }

    /// The whole record as canonical JSON: exactly the bytes that the signature covers.
    public var json: RemoteSettingsBytes { record.json }

    /// The value of one field; `nil` if the record has no such field.
    public subscript(field name: String) -> RemoteSettingsJSON? { record.field(name) }
}

/// A text that was given as a record's fields and is no JSON object. On the heap: records are many, and hardly one has
/// it.
private final class GivenFields: Hashable, Sendable {
    let text: String

    init(text: String) {
        self.text = text
    }

    static func == (left: GivenFields, right: GivenFields) -> Bool { left.text.exact == right.text.exact }

    func hash(into hasher: inout Hasher) { hasher.combine(text.exact) }
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
    /// The records of ``getRecords()`` as a type of the app; `nil` if nothing is held. Never uses the network; does I/O
    /// as ``getRecords()`` does.
    ///
    /// - Throws: ``RecordDecodingError`` for the first record that cannot be decoded.
    public func records<Value: Decodable>(
        as type: Value.Type = Value.self, decoder: JSONDecoder = JSONDecoder()
    ) throws(RecordDecodingError) -> [Value]? {
        guard let records = getRecords() else { return nil }
        var values: [Value] = []
        values.reserveCapacity(records.count)
        for record in records { values.append(try decode(record, decoder)) }
        return values
    }

    /// Like ``records(as:decoder:)``, without the records that cannot be decoded: one bad record leaves the others
    /// usable.
    ///
    /// - Parameters:
    ///   - type: what a record is decoded as.
    ///   - decoder: decodes the records.
    ///   - onError: told of each record that is left out.
    public func records<Value: Decodable>(
        as type: Value.Type = Value.self, decoder: JSONDecoder = JSONDecoder(),
        onError: (RecordDecodingError) -> Void
    ) -> [Value]? {
        getRecords()?.compactMap { record in
            do throws(RecordDecodingError) { return try decode(record, decoder) as Value } catch {
                onError(error)
                return nil
            }
        }
    }

    private func decode<Value: Decodable>(
        _ record: RemoteSettingsRecord, _ decoder: JSONDecoder
    ) throws(RecordDecodingError) -> Value {
        do { return try record.decode(decoder: decoder) } catch {
            throw RecordDecodingError(collection: collectionName(), record: record.id, problem: "\(error)")
        }
    }
}

/// A record does not have the form of the app's type.
public struct RecordDecodingError: Error, Hashable, Sendable {
    /// The name that the client was made with.
    public let collection: String
    /// The record's id.
    public let record: String
    /// The text of the `DecodingError`.
    public let problem: String
}

extension RecordDecodingError: CustomStringConvertible {
    public var description: String {
        "\(collection): the record \(record) cannot be decoded: \(VisibleText.excerpt(problem))"
    }
}

extension RecordDecodingError: LocalizedError {
    public var errorDescription: String? { description }
}

/// The members of a record that have no property of their own.
enum OtherFields {
    static let named: Set<ExactString> = ["id", "last_modified", "deleted", "attachment"]

    static func text(of json: Bytes) -> String {
        var output: [UInt8] = [UInt8(ascii: "{")]
        var reader = JSONReader(json, limits: Limits())
        do throws(FormatError) {
            try reader.beginObject()
            // Canonical JSON has no white space: a member begins right after a brace or comma.
            var start = reader.offset
            while let key = try reader.nextKey() {
                try reader.skipValue()
                let end = reader.offset
                if !named.contains(key.exact) {
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
