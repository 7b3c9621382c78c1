extension Encoder {
    /// Encodes the members that have a value.
    package func encode(members: KeyValuePairs<StaticString, (any Encodable)?>) throws {
        var container = container(keyedBy: MemberName.self)
        for (name, value) in members {
            if let value { try container.encode(value, forKey: MemberName(stringValue: "\(name)")) }
        }
    }
}

private struct MemberName: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }

    init?(intValue: Int) { nil }
}
