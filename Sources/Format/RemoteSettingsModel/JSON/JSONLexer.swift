/// Scans the tokens of JSON (RFC 8259). Each function starts at `position` and advances it past the token.
enum JSONLexer {
    /// The content of a string token, and the properties that one pass over its bytes determines.
    struct StringToken {
        /// The bytes between the quotes.
        var content: Range<Int>
        /// Whether the string is only printable ASCII without escapes. Its bytes are then both its text and its
        /// canonical form.
        var isPlain: Bool
        /// Whether the string contains a backslash.
        var hasEscapes: Bool
    }

    @inline(__always)
    static func skipWhitespace(_ input: Span<UInt8>, _ position: inout Int) {
        while position < input.count {
            switch unsafe input[unchecked: position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }

    @inline(__always)
    static func peek(_ input: Span<UInt8>, _ position: Int) throws(Failure) -> UInt8 {
        guard position < input.count else { throw Failure(.unexpectedEnd, at: position) }
        return unsafe input[unchecked: position]
    }

    @inline(__always)
    static func expect(
        _ byte: UInt8, _ what: @autoclosure () -> String, _ input: Span<UInt8>, _ position: inout Int
    ) throws(Failure) {
        let found = try peek(input, position)
        guard found == byte else { throw Failure(.unexpectedByte(found, expected: what()), at: position) }
        position += 1
    }

    static func literal(_ text: StaticString, in input: Span<UInt8>, at position: inout Int) throws(Failure) {
        let start = position
        for index in 0..<text.utf8CodeUnitCount {
            let found = try peek(input, position)
            guard unsafe found == text.utf8Start[index] else {
                throw Failure(.unexpectedByte(found, expected: "a value"), at: start)
            }
            position += 1
        }
    }

    /// Returns whether a byte is printable ASCII other than a quote or a backslash.
    @inline(__always)
    static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte < 0x7F && byte != 0x22 && byte != 0x5C
    }

    /// Returns a word in which the highest bit of each non-plain byte is set. The lowest byte is the first one.
    ///
    /// Bytes after the first marked one may be marked incorrectly.
    @inline(__always)
    static func special(in word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highs: UInt64 = 0x8080_8080_8080_8080
        let quote = word ^ (ones &* 0x22)
        let backslash = word ^ (ones &* 0x5C)
        // The term `word` marks the bytes from 0x80 on, so the other terms do not have to handle these.
        return ((quote &- ones) | (backslash &- ones) | (word &- ones &* 0x20) | (word &+ ones) | word) & highs
    }

    /// Skips printable ASCII other than quotes and backslashes, eight bytes at a time.
    @inline(__always)
    static func skipPlain(_ input: Span<UInt8>, _ position: inout Int) {
        let raw = unsafe input.bytes
        while position + 8 <= input.count {
            let word = UInt64(
                littleEndian: unsafe raw.unsafeLoadUnaligned(fromUncheckedByteOffset: position, as: UInt64.self))
            let special = special(in: word)
            if special != 0 {
                position += special.trailingZeroBitCount >> 3
                return
            }
            position += 8
        }
        while position < input.count {
            if !isPlain(unsafe input[unchecked: position]) { return }
            position += 1
        }
    }

    /// Checks the string whose opening quote is at `position`: its escapes, UTF-8, surrogates and control characters.
    static func string(_ input: Span<UInt8>, _ position: inout Int) throws(Failure) -> StringToken {
        try expect(0x22, "a string", input, &position)
        let start = position
        skipPlain(input, &position)
        if position < input.count, unsafe input[unchecked: position] == 0x22 {
            position += 1
            return StringToken(content: start..<position - 1, isPlain: true, hasEscapes: false)
        }
        var token = StringToken(content: start..<start, isPlain: false, hasEscapes: false)
        while true {
            let byte = try peek(input, position)
            if byte == 0x22 { break }
            if byte == 0x5C { token.hasEscapes = true }
            _ = try character(input, &position)
            skipPlain(input, &position)
        }
        token.content = start..<position
        position += 1
        return token
    }

    /// Decodes one character of a string: a byte, an escape, or a UTF-8 sequence.
    static func character(_ input: Span<UInt8>, _ position: inout Int) throws(Failure) -> Unicode.Scalar {
        let start = position
        let byte = try peek(input, position)
        if byte == 0x5C { return try escape(input, &position) }
        if byte < 0x20 { throw Failure(.controlCharacter(byte), at: start) }
        if byte < 0x80 {
            position += 1
            return Unicode.Scalar(byte)
        }
        // These ranges exclude overlong forms, surrogates, and characters above U+10FFFF (RFC 3629, section 4).
        let (length, lowest, head): (Int, UInt32, UInt32)
        switch byte {
        case 0xC2...0xDF: (length, lowest, head) = (2, 0x80, UInt32(byte & 0x1F))
        case 0xE0...0xEF: (length, lowest, head) = (3, 0x800, UInt32(byte & 0x0F))
        case 0xF0...0xF4: (length, lowest, head) = (4, 0x10000, UInt32(byte & 0x07))
        default: throw Failure(.invalidUTF8, at: start)
        }
        var value = head
        for index in 1..<length {
            guard start + index < input.count else { throw Failure(.unexpectedEnd, at: input.count) }
            let next = unsafe input[unchecked: start + index]
            guard next & 0xC0 == 0x80 else { throw Failure(.invalidUTF8, at: start) }
            value = value << 6 | UInt32(next & 0x3F)
        }
        guard value >= lowest, let scalar = Unicode.Scalar(value) else { throw Failure(.invalidUTF8, at: start) }
        position = start + length
        return scalar
    }

    private static func escape(_ input: Span<UInt8>, _ position: inout Int) throws(Failure) -> Unicode.Scalar {
        let start = position
        position += 1
        let kind = try peek(input, position)
        position += 1
        switch kind {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(kind)
        case UInt8(ascii: "b"): return "\u{08}"
        case UInt8(ascii: "f"): return "\u{0C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"):
            let unit = try codeUnit(input, &position)
            if let scalar = Unicode.Scalar(unit) { return scalar }
            // A high surrogate must be followed by the escape of a low surrogate (RFC 8259, section 7).
            guard unit < 0xDC00, position + 1 < input.count, unsafe input[unchecked: position] == 0x5C,
                unsafe input[unchecked: position + 1] == UInt8(ascii: "u")
            else { throw Failure(.loneSurrogate, at: start) }
            position += 2
            let low = try codeUnit(input, &position)
            guard (0xDC00...0xDFFF).contains(low),
                let scalar = Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
            else { throw Failure(.loneSurrogate, at: start) }
            return scalar
        default: throw Failure(.invalidEscape, at: start)
        }
    }

    private static func codeUnit(_ input: Span<UInt8>, _ position: inout Int) throws(Failure) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            let digit = try peek(input, position)
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt32(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | UInt32(digit - UInt8(ascii: "a") + 10)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): value = value << 4 | UInt32(digit - UInt8(ascii: "A") + 10)
            default: throw Failure(.invalidEscape, at: position)
            }
            position += 1
        }
        return value
    }

    /// Checks a number against the grammar of RFC 8259, section 6.
    ///
    /// - Returns: whether the number is written as an integer, without a fraction or an exponent.
    static func number(_ input: Span<UInt8>, _ position: inout Int) throws(Failure) -> Bool {
        let start = position
        func digit() -> Bool {
            guard position < input.count else { return false }
            return unsafe (input[unchecked: position] &- 48) < 10
        }
        func digits() throws(Failure) {
            guard digit() else { throw Failure(.invalidNumber, at: start) }
            while digit() { position += 1 }
        }
        if try peek(input, position) == UInt8(ascii: "-") { position += 1 }
        if position < input.count, unsafe input[unchecked: position] == UInt8(ascii: "0") {
            position += 1
            if digit() { throw Failure(.invalidNumber, at: start) }
        } else {
            try digits()
        }
        var isInteger = true
        if position < input.count, unsafe input[unchecked: position] == UInt8(ascii: ".") {
            isInteger = false
            position += 1
            try digits()
        }
        if position < input.count, unsafe input[unchecked: position] | 0x20 == UInt8(ascii: "e") {
            isInteger = false
            position += 1
            if position < input.count, input[position] == 0x2B || input[position] == 0x2D { position += 1 }
            try digits()
        }
        return isInteger
    }

    /// Returns the text of a string token.
    static func text(_ input: Span<UInt8>, _ token: StringToken) -> String {
        if !token.hasEscapes { return input.extracting(token.content).text }
        var text: [UInt8] = []
        text.reserveCapacity(token.content.count)
        var position = token.content.lowerBound
        while position < token.content.upperBound {
            let start = position
            skipPlain(input, &position)
            text.append(contentsOf: input.extracting(start..<position))
            guard position < token.content.upperBound, let scalar = try? character(input, &position) else { break }
            text.append(contentsOf: scalar.utf8)
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns whether the text of a string token is `name`, in UTF-8.
    static func text(_ input: Span<UInt8>, _ token: StringToken, is name: [UInt8]) -> Bool {
        if token.hasEscapes { return text(input, token).utf8.elementsEqual(name) }
        guard token.content.count == name.count else { return false }
        for (offset, index) in token.content.enumerated() where input[index] != name[offset] { return false }
        return true
    }

    /// Returns the kind of value that starts with `byte`, for error messages; `nil` if none does. It recognizes HTML,
    /// because a captive portal or gateway may respond with a web page.
    static func kind(startingWith byte: UInt8) -> String? {
        switch byte {
        case UInt8(ascii: "{"): "an object"
        case UInt8(ascii: "["): "an array"
        case UInt8(ascii: "\""): "a string"
        case UInt8(ascii: "t"), UInt8(ascii: "f"): "a boolean"
        case UInt8(ascii: "n"): "null"
        case UInt8(ascii: "<"): "an HTML page"
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): "a number"
        default: nil
        }
    }
}

extension JSONLexer {
    /// Advances to the next item of an array or object, or past its closing bracket.
    ///
    /// - Returns: whether there is a next item.
    @inline(__always)
    static func nextItem(
        closing: UInt8, isFirst: Bool, _ input: Span<UInt8>, _ position: inout Int
    ) throws(Failure) -> Bool {
        skipWhitespace(input, &position)
        let found = try peek(input, position)
        if found == closing {
            position += 1
            return false
        }
        if isFirst { return true }
        guard found == UInt8(ascii: ",") else { throw unexpected(found, closing, at: position) }
        position += 1
        skipWhitespace(input, &position)
        let next = try peek(input, position)
        guard next != closing else { throw Failure(.unexpectedByte(next, expected: "a value"), at: position) }
        return true
    }

    @inline(never)
    static func unexpected(_ found: UInt8, _ closing: UInt8, at position: Int) -> Failure {
        let expected = "',' or '\(Character(UnicodeScalar(closing)))'"
        return Failure(.unexpectedByte(found, expected: expected), at: position)
    }

    /// Parses a member's key, and skips the colon after it.
    @inline(__always)
    static func key(
        _ input: Span<UInt8>, _ position: inout Int, of keys: inout ObjectKeys
    ) throws(Failure) -> StringToken {
        skipWhitespace(input, &position)
        let start = position
        try expect(UInt8(ascii: "\""), "a key", input, &position)
        position = start
        let token = try string(input, &position)
        guard keys.count < keys.limit else { throw Failure(.tooManyMembers(limit: keys.limit), at: start) }
        guard keys.insert(token, input) else { throw Failure(.duplicateKey(text(input, token)), at: start) }
        skipWhitespace(input, &position)
        try expect(UInt8(ascii: ":"), "':'", input, &position)
        return token
    }
}
