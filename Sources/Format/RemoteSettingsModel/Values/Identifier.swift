/// The rule for ids of buckets, collections and records: `^[a-zA-Z0-9][a-zA-Z0-9_-]*$`, at most 255 characters.
///
/// Any other id from a server or an archive is refused, because ids become parts of paths and URLs.
package enum Identifier {
    /// Returns whether the UTF-8 bytes of an id follow the rule.
    package static func isValid(_ id: some Collection<UInt8>) -> Bool {
        guard let first = id.first, id.count <= 255, isFirst(first) else { return false }
        return id.allSatisfy(isAllowed)
    }

    static func isValid(_ id: Span<UInt8>) -> Bool {
        guard !id.isEmpty, id.count <= 255, isFirst(id[0]) else { return false }
        var isValid = true
        for index in id.indices { isValid = isValid && isAllowed(unsafe id[unchecked: index]) }
        return isValid
    }

    /// The rule in words.
    static let rule = "a letter or digit, then letters, digits, - and _ (at most 255 characters)"

    /// Checks an id.
    ///
    /// - Throws: ``Failure`` if `id` breaks the rule.
    static func check(_ id: String, what: String) throws(Failure) {
        guard isValid(id.utf8) else { throw .invalidName(what, found: id, expected: rule) }
    }

    /// Returns whether a byte is allowed. With thousands of ids, testing one bit for each ASCII character is faster
    /// than comparisons.
    @inline(__always)
    private static func isAllowed(_ byte: UInt8) -> Bool {
        let digitsAndHyphen: UInt64 = 0x03FF_2000_0000_0000
        let lettersAndUnderscore: UInt64 = 0x07FF_FFFE_87FF_FFFE
        let half = byte < 64 ? digitsAndHyphen : byte < 128 ? lettersAndUnderscore : 0
        return half >> UInt64(byte & 63) & 1 == 1
    }

    private static func isFirst(_ byte: UInt8) -> Bool {
        isAllowed(byte) && byte != UInt8(ascii: "_") && byte != UInt8(ascii: "-")
    }
}
