import RemoteSettingsModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A record of a collection.
///
/// Every property, including `id`, is parsed from the collection's bytes each time you access it. Store a value that
/// you need more than once, for example in a dictionary of the records by id.
public struct RemoteSettingsRecord: Hashable, Sendable, Identifiable {
    private(set) var record: Record
    /// The fields given by the app, if they are not a JSON object; `nil` for all records from a server.
    private var given: GivenFields?

    init(_ record: Record) {
        self.record = record
    }

    /// Creates a record for an app's tests.
    ///
    /// - Parameters:
    ///   - id: the record's id.
    ///   - lastModified: the time of the last change, in milliseconds since 1970.
    ///   - deleted: whether the record is marked as deleted.
    ///   - attachment: the description of the record's file.
    ///   - fields: a JSON object with the record's other fields, as a string. If the string is not a JSON object, the
    ///     record has no other fields, and ``fields`` returns the string unchanged.
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
        func canonical(_ members: [JSONValue.Member]) throws(Failure) -> Bytes {
            try CanonicalJSON.canonicalize(Bytes(JSONText.compact(.object(members))))
        }
        do throws(Failure) {
            let value = try JSONValue(parsing: Bytes(utf8: fields))
            guard case .object(let others) = value else {
                throw Failure(.wrongType(expected: "an object", found: value.kind), at: 0)
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

    /// The time of the record's last change, in milliseconds since 1970; 0 if the record does not state it.
    public var lastModified: UInt64 {
        get { record.lastModified?.milliseconds ?? 0 }
        set { change(lastModified: newValue) }
    }

    /// Whether the record is marked as deleted. It is `false` for all records that a client returns.
    public var deleted: Bool {
        get { record.field("deleted")?.bool ?? false }
        set { change(deleted: newValue) }
    }

    /// The record's attachment; `nil` if there is none or its description is incomplete.
    public var attachment: RemoteSettingsAttachment? {
        get { (try? record.attachment()).map(RemoteSettingsAttachment.init) }
        set { change(attachment: .some(newValue)) }
    }

    /// A JSON object with all fields except `id`, `last_modified`, `deleted` and `attachment`, as a string.
    public var fields: String {
        get { given?.text ?? OtherFields.text(of: record.json) }
        set { change(fields: newValue) }
    }

    /// Replaces the record, keeping every value that is not given. See
    /// ``init(id:lastModified:deleted:attachment:fields:)``.
    private mutating func change(
        id: String? = nil, lastModified: UInt64? = nil, deleted: Bool? = nil,
        attachment: RemoteSettingsAttachment?? = nil,
        fields: String? = nil
    ) {
        self = RemoteSettingsRecord(
            id: id ?? self.id, lastModified: lastModified ?? self.lastModified, deleted: deleted ?? self.deleted,
            attachment: attachment ?? self.attachment, fields: fields ?? self.fields)
    }

    /// The whole record as canonical JSON: exactly the bytes that are covered by the signature.
    public var json: RemoteSettingsBytes { record.json }

    /// Returns the value of a field; `nil` if the record has no such field.
    public subscript(field name: String) -> RemoteSettingsJSON? { record.field(name) }
}

/// A string that was given as a record's fields but is not a JSON object. It is a class to keep records small, because
/// almost none has such a string.
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
    /// Decodes the record's whole JSON, including `id` and `last_modified`, as a type of the app. Does no I/O.
    ///
    /// - Throws: `DecodingError`.
    public func decode<Value: Decodable>(
        as type: Value.Type = Value.self, decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        try decoder.decode(type, from: json.data)
    }
}

/// A failure to decode a record as the app's type.
public struct RecordDecodingError: Error, Hashable, Sendable {
    /// The name that the client was created with.
    public let collection: String
    /// The record's id.
    public let record: String
    /// The description of the `DecodingError`.
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

/// The fields of a record that have no Swift property.
enum OtherFields {
    static let named: Set<ExactString> = ["id", "last_modified", "deleted", "attachment"]

    static func text(of json: Bytes) -> String {
        var output: [UInt8] = [UInt8(ascii: "{")]
        var reader = JSONReader(json)
        do throws(Failure) {
            try reader.beginObject()
            // Canonical JSON has no white space, so a member begins right after a brace or comma.
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
