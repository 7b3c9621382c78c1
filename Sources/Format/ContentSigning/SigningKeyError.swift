import RemoteSettingsModel

/// Why a key, a certificate or a request for one cannot be made or used.
package struct SigningKeyError: CodedError {
    package let code: FailureCode
    /// The file, the environment variable or the directory.
    let place: String
    /// What was expected; `nil` if ``found`` says all.
    let expected: String?
    let found: String
    /// What to do next.
    let remedy: String

    /// Makes an error.
    ///
    /// - Parameter code: `usage`, `untrusted` or `busy`.
    package init(
        _ place: String, code: FailureCode = .usage, expected: String? = nil, found: String, remedy: String
    ) {
        self.code = code
        self.place = place
        self.expected = expected
        self.found = found
        self.remedy = remedy
    }

    package var description: String {
        "\(place): \(expected.map { "expected \($0), found \(found)" } ?? found); \(remedy)"
    }
}
