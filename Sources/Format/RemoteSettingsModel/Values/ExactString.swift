/// A string that is compared by its UTF-8 bytes: the key type for untrusted text.
///
/// Swift's `String` considers é as U+00E9 and é as e + U+0301 equal, but JSON, signatures, filters and servers consider
/// them different. `scripts/check sources` therefore forbids `String` as the key of a dictionary or set.
///
/// The property wrapper `@ExactString` makes the synthesized `==` of a type compare a string by its bytes.
@propertyWrapper package struct ExactString: Sendable {
    package var wrappedValue: String
    package var string: String { wrappedValue }

    package init(wrappedValue: String) { self.wrappedValue = wrappedValue }

    package init(_ string: some StringProtocol) { wrappedValue = String(string) }

    private func withBytes<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
        var text = string
        return text.withUTF8 { unsafe body(Span(_unsafeElements: $0)) }
    }
}

extension ExactString: Hashable, Comparable {
    package static func == (left: ExactString, right: ExactString) -> Bool {
        left.string.utf8.count == right.string.utf8.count
            && left.withBytes { a in right.withBytes { b in a.hasSameBytes(as: b) } }
    }

    package func hash(into hasher: inout Hasher) {
        withBytes { span in unsafe span.withUnsafeBytes { unsafe hasher.combine(bytes: $0) } }
        hasher.combine(0xFF as UInt8)
    }

    package static func < (left: ExactString, right: ExactString) -> Bool {
        left.withBytes { a in right.withBytes { b in a.compare(with: b) < 0 } }
    }
}

extension ExactString: ExpressibleByStringLiteral, CustomStringConvertible {
    package init(stringLiteral value: String) { self.init(value) }

    package var description: String { string }
}

extension StringProtocol {
    /// The string as a key that is compared by its UTF-8 bytes.
    package var exact: ExactString { ExactString(self) }
}

extension Dictionary where Key == ExactString {
    package subscript(key: String) -> Value? {
        get { self[key.exact] }
        set { self[key.exact] = newValue }
    }

    /// Creates a dictionary with exact keys from an app's dictionary with `String` keys.
    package init(_ members: [String: Value]) {
        self.init(members.map { ($0.key.exact, $0.value) }) { first, _ in first }
    }
}
