import RemoteSettingsModel
import TargetFilter

/// One record of a parameter set: a value of a parameter, and the condition for its use.
///
/// The article <doc:ParameterRecords> defines the format. The whole record is kept, including members that this version
/// does not know.
package struct ParameterRecord: Sendable {
    /// The value that a record assigns to its parameter.
    package enum Content: Sendable {
        /// The value, as canonical JSON.
        case value(Bytes)
        /// No value: if this record determines the parameter, the app's own default applies.
        case inAppDefault
    }

    /// The record in canonical form, including members that this version does not know.
    package let record: Record
    /// The parameter's name: 1 to 256 characters, none of them a control character.
    package let key: String
    /// The position of the value in the record's JSON; `nil` for ``Content/inAppDefault``.
    private let valueRange: Range<Int>?
    /// The position of the filter in the record's JSON, including its quotation marks; `nil` if there is none.
    private let filterRange: Range<Int>?
    /// The priority stated in the record; `nil` if there is none.
    package let priority: Int64?

    package static let keyMember = "key"
    package static let valueMember = "value"
    package static let priorityMember = "priority"
    package static let inAppDefaultMember = "in_app_default"
    package static let rampMember = "ramp"

    /// The maximum number of Unicode scalars in a key.
    package static var keyScalars: Int { 256 }
    /// The maximum absolute value of a priority. All JSON parsers represent whole numbers up to this one exactly.
    package static var largestPriority: Int64 { (1 << 53) - 1 }

    package var id: String { record.id }

    package var content: Content { valueRange.map { .value(record.json[$0]) } ?? .inAppDefault }

    /// Whether the record applies only under a condition.
    package var hasFilter: Bool { filterRange != nil }

    /// The condition as written; `nil` for a record that applies to every app.
    package var filter: String? {
        guard let filterRange else { return nil }
        var reader = JSONReader(record.json[filterRange])
        return try? reader.string()
    }

    /// The rollout plan that the condition was generated from; `nil` if there is none. It is for display only and has
    /// no effect.
    package var ramp: Ramp? { Ramp(record.field(Self.rampMember)) }

    /// The record's rank. Among a key's records that apply, the one with the highest rank is used.
    ///
    /// A record without a priority has priority 0. A record with neither a priority nor a filter is the parameter's
    /// default and ranks below all others.
    package var rank: Int64 { priority ?? (hasFilter ? 0 : .min) }

    /// Creates a parameter from a record.
    ///
    /// - Throws: ``Failure`` with the record's id if it is not a parameter.
    package init(_ record: Record) throws(Failure) {
        func failure(_ problem: Failure) -> Failure {
            problem.of(record: record.id)
        }
        let json = record.json
        guard let members = json.withSpan({ ParameterMembers(scanning: $0) }) else {
            throw failure(.notCanonicalRecord)
        }
        guard let key = members.key else { throw failure(.noKey) }
        self.record = record
        self.key = try Self.key(json[key], failure)
        priority = try Self.priority(members.priority.map { json[$0] }, failure)
        filterRange = try Self.filter(members.filter, json, failure)
        switch members.inAppDefault.map({ json[$0].text }) {
        case nil, "false", "null":
            guard let value = members.value else { throw failure(.noValue) }
            valueRange = value
        case "true":
            guard members.value == nil else { throw failure(.valueAndInAppDefault) }
            valueRange = nil
        default: throw failure(.invalidInAppDefault)
        }
    }

    private static func key(_ json: Bytes, _ failure: (Failure) -> Failure) throws(Failure) -> String {
        let isPlain = json.withSpan { span in
            guard span.count > 2, span[0] == UInt8(ascii: "\"") else { return false }
            for index in 1..<span.count - 1 where !(0x20..<0x7F).contains(span[index]) || span[index] == 0x5C {
                return false
            }
            return true
        }
        if isPlain, json.count <= keyScalars + 2 { return json[1..<json.count - 1].text }
        var reader = JSONReader(json)
        guard let key = try? reader.string() else { throw failure(.keyIsNoText) }
        guard isKey(key) else { throw failure(.invalidKey) }
        return key
    }

    /// Returns whether a string is a valid name of a parameter, as defined by ``key``.
    package static func isKey(_ text: String) -> Bool {
        let scalars = text.unicodeScalars
        return !scalars.isEmpty && scalars.count <= keyScalars
            && !scalars.contains { $0.properties.generalCategory == .control }
    }

    private static func priority(_ json: Bytes?, _ failure: (Failure) -> Failure) throws(Failure) -> Int64? {
        guard let text = json?.text, text != "null" else { return nil }
        guard let number = Int64(text), number.magnitude <= largestPriority.magnitude else {
            throw failure(.invalidPriority(found: VisibleText.excerpt(text, limit: 40)))
        }
        return number
    }

    /// Checks the filter. A filter that contains only white space is ignored, as everywhere in Remote Settings.
    private static func filter(
        _ range: Range<Int>?, _ json: Bytes, _ failure: (Failure) -> Failure
    ) throws(Failure) -> Range<Int>? {
        guard let range else { return nil }
        let slice = json[range]
        if slice.starts(with: "null".utf8) { return nil }
        var reader = JSONReader(slice)
        guard let text = try? reader.string() else { throw failure(.filterIsNoText) }
        return text.unicodeScalars.allSatisfy(\.properties.isWhitespace) ? nil : range
    }
}
