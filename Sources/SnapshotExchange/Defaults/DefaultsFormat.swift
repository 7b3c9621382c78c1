/// The files that apps load default values from.
public enum DefaultsFormat: Sendable {
    case plist
    case json
    case xml
}

/// Which fields of a collection's records are keys and values.
public struct DefaultsFields: Hashable, Sendable {
    public let key: String
    public let value: String

    public init(key: String, value: String) {
        self.key = key
        self.value = value
    }
}
