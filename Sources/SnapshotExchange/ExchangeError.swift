/// Why something could not be imported, exported or embedded.
public struct ExchangeError: Error, Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        /// The request does not fit the arguments or what is on the disk.
        case usage
        /// What was read is malformed, or could do harm in a file system.
        case badInput
        /// What was read does not match its record or its signature.
        case unverified
    }

    public let kind: Kind
    /// The file, directory or collection.
    public let place: String
    /// The entry, record or member inside of it; `nil` for the whole.
    public let entry: String?
    public let expected: String
    public let found: String
    /// What to do next.
    public let remedy: String

    public init(
        _ kind: Kind, _ place: String, entry: String? = nil, expected: String, found: String, remedy: String
    ) {
        self.kind = kind
        self.place = place
        self.entry = entry
        self.expected = expected
        self.found = found
        self.remedy = remedy
    }
}

extension ExchangeError: CustomStringConvertible {
    public var description: String {
        let whole = entry.map { "\(place): \($0)" } ?? place
        return "\(whole): expected \(expected), found \(found); \(remedy)"
    }
}
