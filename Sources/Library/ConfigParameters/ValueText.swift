import RemoteSettingsModel

/// The type of a text, by the rules of Firebase's console.
///
/// All values that the console publishes are texts. Their types are checked before that, and never change what an app
/// gets.
package enum ValueText {
    /// `true` or `false`, in any case.
    package static func isBoolean(_ text: String) -> Bool { ["true", "false"].contains(text.lowercased()) }

    /// Digits, with an optional sign and fraction: `-1.50`, `.5`, `007`. Leading spaces do not count.
    package static func isNumber(_ text: String) -> Bool {
        let digits = text.utf8.drop { $0 == UInt8(ascii: " ") }
        let parts = digits.dropFirst(digits.first == UInt8(ascii: "-") ? 1 : 0)
            .split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count <= 2 && parts.last?.isEmpty == false
            && parts.allSatisfy { $0.allSatisfy { (48...57).contains($0) } }
    }

    /// A JSON document of any type.
    package static func json(_ text: String) -> JSONValue? {
        try? JSONValue(parsing: Bytes(utf8: text), limits: Limits())
    }
}
