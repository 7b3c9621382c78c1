extension Encoder {
    /// Encodes the members that have a value.
    package func encode(members: KeyValuePairs<StaticString, (any Encodable)?>) throws {
        var container = container(keyedBy: MemberKey.self)
        for (name, value) in members {
            if let value { try container.encode(value, forKey: MemberKey(stringValue: "\(name)")) }
        }
    }
}

/// The key of a member with any name.
package struct MemberKey: CodingKey {
    package let stringValue: String
    package var intValue: Int? { nil }

    package init(stringValue: String) { self.stringValue = stringValue }

    package init?(intValue: Int) { nil }
}
