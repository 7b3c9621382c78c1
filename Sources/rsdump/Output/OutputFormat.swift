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
