/// The rule for ids of buckets, collections and records: `^[a-zA-Z0-9][a-zA-Z0-9_-]*$`, at most 255 characters.
///
/// Whatever else a server or an archive gives as an id is hostile: ids become parts of paths and URLs.
public enum Identifier {
    public static func isValid(_ id: some Collection<UInt8>) -> Bool {
        guard let first = id.first, id.count <= 255, isAlphanumeric(first) else { return false }
        return id.allSatisfy { isAlphanumeric($0) || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-") }
    }

    static func isValid(_ input: Span<UInt8>, _ range: Range<Int>) -> Bool {
        guard !range.isEmpty, range.count <= 255, isAlphanumeric(input[range.lowerBound]) else { return false }
        for index in range {
            let byte = input[index]
            guard isAlphanumeric(byte) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-") else { return false }
        }
        return true
    }

    /// - Throws: ``InvalidIdentifier`` where `id` breaks the rule.
    public static func check(_ id: String, what: String) throws(InvalidIdentifier) {
        guard isValid(id.utf8) else {
            throw InvalidIdentifier(
                what: what, found: id, expected: "a letter or digit, then letters, digits, - and _ (at most 255)")
        }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default:
            false
        }
    }
}

/// A name that breaks the rule for ids.
public struct InvalidIdentifier: Error, Hashable, CustomStringConvertible {
    public let what: String
    public let found: String
    public let expected: String

    public var description: String {
        "invalid \(what) \(String(reflecting: String(found.prefix(80)))): expected \(expected)"
    }
}
