import ArgumentParser
import RemoteSettingsModel

/// How a command prints its result.
enum OutputFormat: String, ExpressibleByArgument, CaseIterable {
    case text
    case json
}

extension Console {
    /// One JSON document, and nothing else, to standard output.
    static func print(json value: JSONValue) {
        write(JSONText.indented(value), to: 1)
    }
}

extension JSONValue {
    /// An object of the members that have a value.
    static func members(_ members: KeyValuePairs<String, JSONValue?>) -> JSONValue {
        .object(members.compactMap { key, value in value.map { Member(key: key, value: $0) } })
    }

    static func count(_ value: some BinaryInteger) -> JSONValue { .number(JSONNumber(value)) }
}
