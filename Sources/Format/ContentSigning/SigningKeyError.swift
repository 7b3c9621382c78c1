/// Why a key, a certificate or a request for one cannot be made or used.
package struct SigningKeyError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// The arguments, or the files in the directory, do not fit the requested operation.
        case usage
        /// A key and a certificate do not belong together, or a certificate is not of the expected kind.
        case untrusted
        /// Another process changes the directory.
        case busy
    }

    package let kind: Kind
    /// The file, the environment variable or the directory.
    let place: String
    /// What was expected; `nil` if ``found`` says all.
    let expected: String?
    let found: String
    /// What to do next.
    let remedy: String

    package init(_ place: String, kind: Kind = .usage, expected: String? = nil, found: String, remedy: String) {
        self.kind = kind
        self.place = place
        self.expected = expected
        self.found = found
        self.remedy = remedy
    }

    package var description: String {
        "\(place): \(expected.map { "expected \($0), found \(found)" } ?? found); \(remedy)"
    }
}
