import RemoteSettingsModel

/// A value of the filter language: a JSON value, or `undefined` if there is no value.
package enum FilterValue: Sendable {
    case undefined
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([FilterValue])
    case object(FilterObject)

    /// Creates a value from JSON. Numbers become doubles.
    package init(_ json: JSONValue) {
        switch json {
        case .null: self = .null
        case .bool(let value): self = .bool(value)
        case .number(let number): self = .number(number.double)
        case .string(let text): self = .string(text)
        case .array(let elements): self = .array(elements.map(FilterValue.init))
        case .object(let members):
            self = .object(FilterObject(members.map { (key: $0.key, value: FilterValue($0.value)) }))
        }
    }

    /// Whether the value is truthy in JavaScript: any value except `undefined`, `null`, `false`, 0, NaN and the empty
    /// string.
    var isTruthy: Bool {
        switch self {
        case .undefined, .null: false
        case .bool(let value): value
        case .number(let number): number != 0 && !number.isNaN
        case .string(let text): !text.isEmpty
        case .array, .object: true
        }
    }

    var isAbsent: Bool { self == .undefined || self == .null }

    /// The value's description in an error.
    var kind: String {
        switch self {
        case .undefined: "undefined"
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }

    /// Returns a member of an object, or of an array's first element; `undefined` for anything else.
    ///
    /// The first element is used for compatibility with mozjexl: if `a` is an array, `a.b` means `a[0].b`.
    func member(_ name: String) -> FilterValue {
        switch self {
        case .object(let object): object[name]
        case .array(let elements):
            if case .object(let object)? = elements.first { object[name] } else { .undefined }
        default: .undefined
        }
    }

    /// Returns `value[key]`: an array's element by its index, or an object's member by its name.
    func element(_ key: FilterValue) -> FilterValue {
        switch (self, key) {
        case (.array(let elements), .number(let number)):
            if let index = Int(exactly: number), elements.indices.contains(index) {
                elements[index]
            } else {
                .undefined
            }
        case (.object(let object), .string(let name)): object[name]
        case (.object(let object), .number(let number)): object[NumberText.text(number)]
        default: .undefined
        }
    }
}

/// Strings and keys are compared by their UTF-8 bytes, and never normalized.
extension FilterValue: Equatable {
    package static func == (left: FilterValue, right: FilterValue) -> Bool {
        switch (left, right) {
        case (.undefined, .undefined), (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.number(let a), .number(let b)): a == b
        case (.string(let a), .string(let b)): a.exact == b.exact
        case (.array(let a), .array(let b)): a == b
        case (.object(let a), .object(let b)): a == b
        default: false
        }
    }
}

extension FilterValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByFloatLiteral,
    ExpressibleByIntegerLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(floatLiteral value: Double) { self = .number(value) }
    package init(integerLiteral value: Int) { self = .number(Double(value)) }
    package init(arrayLiteral elements: FilterValue...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, FilterValue)...) {
        self = .object(FilterObject(elements.map { (key: $0.0, value: $0.1) }))
    }
}

extension FilterValue: CustomStringConvertible {
    /// A description for people, not for programs. It is JSON if possible, truncated after a few hundred characters.
    package var description: String {
        var output = ""
        describe(into: &output)
        return output.utf8.count > Self.descriptionBytes ? output + "…" : output
    }

    private static var descriptionBytes: Int { 400 }

    private func describe(into output: inout String) {
        guard output.utf8.count <= Self.descriptionBytes else { return }
        switch self {
        case .undefined: output += "undefined"
        case .null: output += "null"
        case .bool(let value): output += value ? "true" : "false"
        case .number(let number): output += NumberText.text(number)
        case .string(let text): output += FilterJSON.quoted(VisibleText.excerpt(text, limit: Self.descriptionBytes))
        case .array(let elements):
            output += "["
            for (index, element) in elements.prefix(Self.descriptionBytes).enumerated() {
                if index > 0 { output += ", " }
                element.describe(into: &output)
            }
            output += "]"
        case .object(let object):
            output += "{"
            for (index, member) in object.members.prefix(Self.descriptionBytes).enumerated() {
                output += (index > 0 ? ", " : "") + FilterJSON.quoted(VisibleText.excerpt(member.key, limit: 80)) + ": "
                member.value.describe(into: &output)
            }
            output += "}"
        }
    }
}
