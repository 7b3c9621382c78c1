// Literals let an app write `["platform": "ios", "since": 3]`.

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) { self = .string(value) }
}

extension JSONValue: ExpressibleByBooleanLiteral {
    public init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension JSONValue: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: Int64) { self = .number(JSONNumber(value)) }
}

extension JSONValue: ExpressibleByFloatLiteral {
    public init(floatLiteral value: Double) { self = JSONNumber(value).map(JSONValue.number) ?? .null }
}

extension JSONValue: ExpressibleByArrayLiteral {
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
}

extension JSONValue: ExpressibleByDictionaryLiteral {
    /// Creates an object whose members keep their order. If a key appears twice, lookups use the first one.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(elements.map { Member(key: $0, value: $1) })
    }
}

extension JSONValue: Codable {
    /// Decodes a value. 64-bit integers remain exact, and other numbers become the nearest double.
    ///
    /// - Throws: `DecodingError` for anything that is not a JSON value.
    public init(from decoder: any Decoder) throws {
        if let members = try? decoder.container(keyedBy: MemberKey.self) {
            self = .object(
                try members.allKeys.map {
                    Member(key: $0.stringValue, value: try members.decode(JSONValue.self, forKey: $0))
                })
            return
        }
        if var elements = try? decoder.unkeyedContainer() {
            var values: [JSONValue] = []
            while !elements.isAtEnd { values.append(try elements.decode(JSONValue.self)) }
            self = .array(values)
            return
        }
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let bool = try? value.decode(Bool.self) {
            self = .bool(bool)
        } else if let whole = try? value.decode(Int64.self) {
            self = .number(JSONNumber(whole))
        } else if let whole = try? value.decode(UInt64.self) {
            self = .number(JSONNumber(whole))
        } else if let number = (try? value.decode(Double.self)).flatMap({ JSONNumber($0) }) {
            self = .number(number)
        } else {
            self = .string(try value.decode(String.self))
        }
    }

    /// Encodes the value.
    ///
    /// - Throws: `EncodingError` for a number that a double cannot represent.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .object(let members):
            var container = encoder.container(keyedBy: MemberKey.self)
            for member in members { try container.encode(member.value, forKey: MemberKey(stringValue: member.key)) }
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
        case .null, .bool, .number, .string:
            var container = encoder.singleValueContainer()
            switch self {
            case .bool(let value): try container.encode(value)
            case .string(let text): try container.encode(text)
            case .number(let number):
                if let whole = number.int64 {
                    try container.encode(whole)
                } else if let whole = number.uint64 {
                    try container.encode(whole)
                } else {
                    try container.encode(number.double)
                }
            default: try container.encodeNil()
            }
        }
    }
}
