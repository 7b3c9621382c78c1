/// Why something could not be imported, exported or embedded.
package struct ExchangeError: Error, Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// The request does not fit the arguments or the files on the disk.
        case usage
        /// The input is malformed or could harm the file system.
        case badInput
        /// The input does not match its record or its signature.
        case unverified
    }

    package let kind: Kind
    /// The file, directory or collection.
    package let place: String
    /// The entry, record or member in it; `nil` for the whole.
    package let entry: String?
    /// What was expected; `nil` if ``found`` says all.
    package let expected: String?
    package let found: String
    /// What to do next.
    package let remedy: String

    package init(
        _ kind: Kind, _ place: String, entry: String? = nil, expected: String? = nil, found: String, remedy: String
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
    package var description: String {
        let whole = entry.map { "\(place): \($0)" } ?? place
        let problem = expected.map { "expected \($0), found \(found)" } ?? found
        return "\(whole): \(problem); \(remedy)"
    }
}
