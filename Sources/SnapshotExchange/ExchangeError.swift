/// Why something could not be imported, exported or embedded.
public struct ExchangeError: Error, Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        /// What was asked for cannot be done with what is there.
        case usage
        /// What was read is not what it should be, or is not to be trusted with a file system.
        case badInput
        /// What was read is not what a record or a signature says of it.
        case unverified
    }

    public let kind: Kind
    /// The file, directory or collection.
    public let place: String
    /// The entry, record or member inside of it; `nil` where it is the whole.
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
