extension JSONValue {
    /// An object of the members that have a value.
    package static func members(_ members: KeyValuePairs<String, JSONValue?>) -> JSONValue {
        .object(members.compactMap { key, value in value.map { Member(key: key, value: $0) } })
    }

    package static func count(_ value: some BinaryInteger) -> JSONValue { .number(JSONNumber(value)) }
}
