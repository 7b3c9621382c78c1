import RemoteSettingsModel

/// The type of a member's values, as declared in Swift by `rsdump embed --types`.
indirect enum ValueType: Hashable, Sendable {
    case string
    /// One of these strings, or one added to the schema later.
    case choice([String])
    /// A 64-bit integer.
    case integer
    case number
    case boolean
    /// The description of a record's file, in the top-level member `attachment`.
    case attachment
    case array(ValueType)
    /// An object whose keys are data, such as language codes.
    case dictionary(ValueType)
    case object([Field])
    /// Values of several types, or of an unknown type.
    case any

    /// A member of an object.
    struct Field: Hashable, Sendable {
        let key: String
        let type: ValueType
        /// Whether the member may be missing or `null`.
        let isOptional: Bool
    }
}

extension ValueType {
    /// A value that does not match a type.
    struct Misfit: Hashable, Sendable {
        /// The path to the value in the record, as keys and indexes.
        let path: [String]
        let found: String
        let expected: String
    }

    /// Returns the first part of `value` that does not match this type, in the order of the type's members; `nil` if
    /// the whole value can be decoded.
    func misfit(of value: JSONValue, at path: [String] = []) -> Misfit? {
        func wrong(_ expected: String) -> Misfit { Misfit(path: path, found: value.kind, expected: expected) }
        switch (self, value) {
        case (.any, _), (.string, .string), (.choice, .string), (.boolean, .bool), (.number, .number): return nil
        case (.integer, .number(let number)): return number.int64 == nil ? wrong("an integer") : nil
        case (.array(let type), .array(let elements)):
            for (index, element) in elements.enumerated() {
                if let misfit = type.misfit(of: element, at: path + ["\(index)"]) { return misfit }
            }
            return nil
        case (.dictionary(let type), .object(let members)):
            for member in members {
                if let misfit = type.misfit(of: member.value, at: path + [member.key]) { return misfit }
            }
            return nil
        case (.object(let fields), .object(let members)): return Self.misfit(of: members, fields, at: path)
        case (.attachment, .object(let members)): return Self.misfit(of: members, Self.attachmentFields, at: path)
        default: return wrong(words)
        }
    }

    private static func misfit(of members: [JSONValue.Member], _ fields: [Field], at path: [String]) -> Misfit? {
        let values = members.byKey
        for field in fields {
            let value = values[field.key] ?? .null
            if value == .null, field.isOptional { continue }
            guard values[field.key] != nil else {
                return Misfit(path: path + [field.key], found: "missing", expected: field.type.words)
            }
            if let misfit = field.type.misfit(of: value, at: path + [field.key]) { return misfit }
        }
        return nil
    }

    /// The fields that `RemoteSettingsAttachment` decodes.
    private static let attachmentFields = [
        Field(key: "filename", type: .string, isOptional: false), Field(key: "hash", type: .string, isOptional: false),
        Field(key: "location", type: .string, isOptional: false),
        Field(key: "mimetype", type: .string, isOptional: false), Field(key: "size", type: .integer, isOptional: false),
    ]

    private var words: String {
        switch self {
        case .string, .choice: "a string"
        case .integer: "an integer"
        case .number: "a number"
        case .boolean: "a boolean"
        case .attachment, .dictionary, .object: "an object"
        case .array: "an array"
        case .any: "any value"
        }
    }
}
