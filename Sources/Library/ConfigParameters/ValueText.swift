import RemoteSettingsModel

/// Recognizes the types of values in strings, by the rules of Firebase's console.
///
/// The console publishes all values as strings, after checking that they have the chosen type. The types have no effect
/// on the values that an app gets.
package enum ValueText {
    /// Returns whether the string is `true` or `false`, in any case.
    package static func isBoolean(_ text: String) -> Bool { ["true", "false"].contains(text.lowercased()) }

    /// Returns whether the string is a number: digits with an optional minus sign and fraction, such as `-1.50`, `.5`
    /// or `007`. Leading spaces are ignored.
    package static func isNumber(_ text: String) -> Bool {
        let digits = text.utf8.drop { $0 == UInt8(ascii: " ") }
        let parts = digits.dropFirst(digits.first == UInt8(ascii: "-") ? 1 : 0)
            .split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count <= 2 && parts.last?.isEmpty == false
            && parts.allSatisfy { $0.allSatisfy { (48...57).contains($0) } }
    }

    /// Parses the string as a JSON document of any type; returns `nil` if it is not one.
    package static func json(_ text: String) -> JSONValue? {
        try? JSONValue(parsing: Bytes(utf8: text))
    }
}
