/// Skips a value, with the same checks as if it were read.
struct JSONSkipper {
    /// The deepest nesting of arrays and objects.
    let depthLimit: Int
    /// The most members of an object.
    let memberLimit: Int

    /// - Parameter depth: the number of arrays and objects around the value.
    func skip(_ input: Span<UInt8>, _ position: inout Int, depth: Int) throws(JSONError) {
        JSONLexer.skipWhitespace(input, &position)
        let first = try JSONLexer.peek(input, position)
        switch first {
        case UInt8(ascii: "\""): _ = try JSONLexer.string(input, &position)
        case UInt8(ascii: "{"): try skipObject(input, &position, depth: depth)
        case UInt8(ascii: "["): try skipArray(input, &position, depth: depth)
        case UInt8(ascii: "t"): try JSONLexer.literal("true", in: input, at: &position)
        case UInt8(ascii: "f"): try JSONLexer.literal("false", in: input, at: &position)
        case UInt8(ascii: "n"): try JSONLexer.literal("null", in: input, at: &position)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): _ = try JSONLexer.number(input, &position)
        default: throw JSONError(.unexpectedByte(first, expected: "a value"), at: position)
        }
    }

    private func skipObject(_ input: Span<UInt8>, _ position: inout Int, depth: Int) throws(JSONError) {
        guard depth < depthLimit else { throw JSONError(.tooDeep(limit: depthLimit), at: position) }
        position += 1
        var keys = ObjectKeys(limit: memberLimit)
        var isFirst = true
        while try JSONLexer.nextItem(closing: UInt8(ascii: "}"), isFirst: isFirst, input, &position) {
            isFirst = false
            _ = try JSONLexer.key(input, &position, of: &keys)
            try skip(input, &position, depth: depth + 1)
        }
    }

    private func skipArray(_ input: Span<UInt8>, _ position: inout Int, depth: Int) throws(JSONError) {
        guard depth < depthLimit else { throw JSONError(.tooDeep(limit: depthLimit), at: position) }
        position += 1
        var isFirst = true
        while try JSONLexer.nextItem(closing: UInt8(ascii: "]"), isFirst: isFirst, input, &position) {
            isFirst = false
            try skip(input, &position, depth: depth + 1)
        }
    }
}

extension JSONLexer {
    /// Moves to the next item of an array or object, or past its closing bracket.
    ///
    /// - Returns: whether there is another item.
    @inline(__always)
    static func nextItem(
        closing: UInt8, isFirst: Bool, _ input: Span<UInt8>, _ position: inout Int
    ) throws(JSONError) -> Bool {
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
        guard next != closing else { throw JSONError(.unexpectedByte(next, expected: "a value"), at: position) }
        return true
    }

    @inline(never)
    static func unexpected(_ found: UInt8, _ closing: UInt8, at position: Int) -> JSONError {
        let expected = "',' or '\(Character(UnicodeScalar(closing)))'"
        return JSONError(.unexpectedByte(found, expected: expected), at: position)
    }

    /// Reads a member's key, and skips the colon after it.
    @inline(__always)
    static func key(
        _ input: Span<UInt8>, _ position: inout Int, of keys: inout ObjectKeys
    ) throws(JSONError) -> StringToken {
        skipWhitespace(input, &position)
        let start = position
        try expect(UInt8(ascii: "\""), "a key", input, &position)
        position = start
        let token = try string(input, &position)
        guard keys.count < keys.limit else { throw JSONError(.tooManyMembers(limit: keys.limit), at: start) }
        guard keys.insert(token, input) else { throw JSONError(.duplicateKey(text(input, token)), at: start) }
        skipWhitespace(input, &position)
        try expect(UInt8(ascii: ":"), "':'", input, &position)
        return token
    }
}
