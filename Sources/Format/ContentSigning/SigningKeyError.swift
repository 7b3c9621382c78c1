import RemoteSettingsModel

/// An error that explains why a key, a certificate or a certificate request cannot be created or used.
package struct SigningKeyError: CodedError {
    package let code: FailureCode
    /// The file, environment variable, directory or name that the error is about.
    let place: String
    /// A description of the expected content; `nil` if ``found`` is sufficient.
    let expected: String?
    let found: String
    /// The next step for the user.
    let remedy: String

    /// Creates an error.
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
