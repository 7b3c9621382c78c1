/// Parses a JSON document from bytes, value by value, in document order.
///
/// It follows RFC 8259 strictly, and accepts no comments, trailing commas, byte order mark or second value. It also
/// refuses duplicate keys (section 4 leaves their meaning open), lone surrogates, and nesting deeper than
/// ``Limits/jsonDepth``. It copies only the strings that the caller reads.
///
///     var reader = JSONReader(document)
///     try reader.beginObject()
///     while let key = try reader.nextKey() {
///         switch key {
///         case "timestamp": timestamp = try reader.unsignedInteger()
///         default: try reader.skipValue()
///         }
///     }
///     try reader.finish()
package struct JSONReader {
    private struct Scope {
        var isObject: Bool
        var isFirst = true
        var keys: ObjectKeys
    }

    package let document: Bytes
    /// The position of the next unread byte.
    package private(set) var offset = 0
    private let skipper: JSONSkipper
    private let valueLimit: Int
    /// The number of values that the latest call of ``value()`` or ``object()`` has created.
    private var values = 0
    private var scopes: [Scope] = []

    /// Creates a reader of a document that may have at most so many levels, members of one object, and values.
    package init(
        _ document: Bytes, depth: Int = Limits.jsonDepth, members: Int = Limits.jsonMembers,
        values: Int = Limits.jsonValues
    ) {
        self.document = document
        skipper = JSONSkipper(depthLimit: depth, memberLimit: members)
        valueLimit = values
    }

    /// Returns the first byte of the next value, which determines its kind.
    private mutating func peek() throws(Failure) -> UInt8 {
        try consume { (input, position) throws(Failure) in
            JSONLexer.skipWhitespace(input, &position)
            return try JSONLexer.peek(input, position)
        }
    }

    private mutating func begin(_ bracket: UInt8, _ expected: String) throws(Failure) {
        let found = try peek()
        guard found == bracket else { throw wrongType(expected, found) }
        guard scopes.count < skipper.depthLimit else { throw Failure(.tooDeep(limit: skipper.depthLimit), at: offset) }
        scopes.append(Scope(isObject: bracket == UInt8(ascii: "{"), keys: ObjectKeys(limit: skipper.memberLimit)))
        offset += 1
    }

    private func wrongType(_ expected: String, _ found: UInt8) -> Failure {
        let kind = JSONLexer.kind(startingWith: found)
        return Failure(
            kind.map { .wrongType(expected: expected, found: $0) } ?? .unexpectedByte(found, expected: expected),
            at: offset)
    }

    /// Enters an object. Then call ``nextKey()`` until it returns `nil`.
    package mutating func beginObject() throws(Failure) {
        try begin(UInt8(ascii: "{"), "an object")
    }

    /// Enters an array. Then call ``nextElement()`` until it returns `false`.
    package mutating func beginArray() throws(Failure) {
        try begin(UInt8(ascii: "["), "an array")
    }

    /// Returns the next member's key; `nil` after the last member. Read or skip the member's value before the next
    /// call.
    package mutating func nextKey() throws(Failure) -> String? {
        try advance(closing: UInt8(ascii: "}")) { (input, position, keys) throws(Failure) in
            JSONLexer.text(input, try JSONLexer.key(input, &position, of: &keys))
        }
    }

    /// Skips members up to the one with this name, so that its value comes next.
    ///
    /// - Returns: whether there is such a member. If not, the whole object has been skipped.
    mutating func seekMember(_ name: String) throws(Failure) -> Bool {
        let name = Array(name.utf8)
        let (skipper, depth) = (skipper, scopes.count)
        while true {
            let found = try advance(closing: UInt8(ascii: "}")) { (input, position, keys) throws(Failure) -> Bool in
                let token = try JSONLexer.key(input, &position, of: &keys)
                if JSONLexer.text(input, token, is: name) { return true }
                try skipper.skip(input, &position, depth: depth)
                return false
            }
            guard let found else { return false }
            if found { return true }
        }
    }

    /// Returns whether there is a next element. Read or skip it before the next call.
    package mutating func nextElement() throws(Failure) -> Bool {
        try advance(closing: UInt8(ascii: "]")) { (_, _, _) throws(Failure) in } != nil
    }

    /// Advances to the next item, and lets `body` read its beginning; returns `nil` after the last item.
    @inline(__always)
    private mutating func advance<Value>(
        closing: UInt8,
        _ body: (_ input: Span<UInt8>, _ position: inout Int, _ keys: inout ObjectKeys) throws(Failure) -> Value
    ) throws(Failure) -> Value? {
        var position = offset
        let last = scopes.count - 1
        defer { offset = position }
        let value = try document.withSpan { (span) throws(Failure) -> Value? in
            guard try JSONLexer.nextItem(closing: closing, isFirst: scopes[last].isFirst, span, &position) else {
                return nil
            }
            scopes[last].isFirst = false
            return try body(span, &position, &scopes[last].keys)
        }
        if value == nil { scopes.removeLast() }
        return value
    }

    /// Returns whether the next value is `null`. If so, it is skipped.
    mutating func null() throws(Failure) -> Bool {
        guard try peek() == UInt8(ascii: "n") else { return false }
        try literal("null")
        return true
    }

    package mutating func bool() throws(Failure) -> Bool {
        let found = try peek()
        switch found {
        case UInt8(ascii: "t"):
            try literal("true")
            return true
        case UInt8(ascii: "f"):
            try literal("false")
            return false
        default: throw wrongType("a boolean", found)
        }
    }

    private mutating func literal(_ text: StaticString) throws(Failure) {
        try consume { (input, position) throws(Failure) in try JSONLexer.literal(text, in: input, at: &position) }
    }

    package mutating func string() throws(Failure) -> String {
        let found = try peek()
        guard found == UInt8(ascii: "\"") else { throw wrongType("a string", found) }
        return try consume { (input, position) throws(Failure) in
            JSONLexer.text(input, try JSONLexer.string(input, &position))
        }
    }

    package mutating func number() throws(Failure) -> JSONNumber {
        let found = try peek()
        guard JSONLexer.kind(startingWith: found) == "a number" else { throw wrongType("a number", found) }
        return try consume { (input, position) throws(Failure) in
            let start = position
            _ = try JSONLexer.number(input, &position)
            return JSONNumber(text: input.extracting(start..<position).text)
        }
    }

    /// Returns the next number, which must be written as an integer in 0…2^64-1.
    package mutating func unsignedInteger() throws(Failure) -> UInt64 {
        let number = try number()
        guard let value = number.uint64 else {
            throw Failure(.wrongType(expected: "a whole number that is not negative", found: number.text), at: offset)
        }
        return value
    }

    /// Skips the next value, with the same checks as for reading it.
    ///
    /// - Returns: the value's bytes, as a slice of the document.
    @discardableResult
    package mutating func skipValue() throws(Failure) -> Bytes {
        _ = try peek()
        let start = offset
        let (skipper, depth) = (skipper, scopes.count)
        try consume { (span, position) throws(Failure) in try skipper.skip(span, &position, depth: depth) }
        return document[start..<offset]
    }

    /// Skips the next value if it is at most `limit` bytes long, with the same checks as for reading it.
    ///
    /// Nothing after the limit is read.
    ///
    /// - Returns: the value's bytes, as a slice of the document.
    mutating func skipValue(limit: Int) throws(Failure) -> Bytes {
        _ = try peek()
        let start = offset
        guard document.count - start > limit else { return try skipValue() }
        let (skipper, depth) = (skipper, scopes.count)
        // Include one more byte, to distinguish a value that ends exactly at the limit from a longer one.
        let end = start + limit + 1
        var position = start
        do throws(Failure) {
            try document[0..<end].withSpan { (span) throws(Failure) in
                try skipper.skip(span, &position, depth: depth)
            }
        } catch {
            // Cutting a character, an escape or a literal (at most 12 bytes) at the limit causes a misleading error, so
            // report any error this close to the limit as `tooLong`.
            throw error.offset ?? 0 >= end - 12 ? Failure(.tooLong(limit: limit), at: start) : error
        }
        guard position < end else { throw Failure(.tooLong(limit: limit), at: start) }
        offset = position
        return document[start..<offset]
    }

    /// Parses the next value, including all nested values.
    ///
    /// - Throws: ``Failure``. Its reason is `tooManyValues` if there are more values than ``Limits/jsonValues``.
    package mutating func value() throws(Failure) -> JSONValue {
        values = 0
        return try tree()
    }

    /// Parses the next value, which must be an object. The limit for nested values is the same as in ``value()``.
    mutating func object() throws(Failure) -> [JSONValue.Member] {
        values = 1
        return try members()
    }

    private mutating func members() throws(Failure) -> [JSONValue.Member] {
        var members: [JSONValue.Member] = []
        try beginObject()
        while let key = try nextKey() { members.append(.init(key: key, value: try tree())) }
        return members
    }

    private mutating func tree() throws(Failure) -> JSONValue {
        values += 1
        guard values <= valueLimit else { throw Failure(.tooManyValues(limit: valueLimit), at: offset) }
        switch try peek() {
        case UInt8(ascii: "{"): return .object(try members())
        case UInt8(ascii: "["):
            var elements: [JSONValue] = []
            try beginArray()
            while try nextElement() { elements.append(try tree()) }
            return .array(elements)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return .bool(try bool())
        case UInt8(ascii: "n"):
            _ = try null()
            return .null
        case UInt8(ascii: "<"): throw wrongType("a value", UInt8(ascii: "<"))
        default: return .number(try number())
        }
    }

    /// Passes the next value to a custom parser, which must advance `position` past the value.
    mutating func consume<Value, Failure: Error>(
        _ body: (_ input: Span<UInt8>, _ position: inout Int) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        var position = offset
        let value = try document.withSpan { (span) throws(Failure) in try body(span, &position) }
        offset = position
        return value
    }

    /// Checks that only white space remains.
    package mutating func finish() throws(Failure) {
        consume { (input, position) in JSONLexer.skipWhitespace(input, &position) }
        guard offset == document.count else { throw Failure(.trailingData, at: offset) }
    }
}

/// Skips a value, with the same checks as for reading it.
private struct JSONSkipper {
    /// The largest depth of arrays and objects.
    let depthLimit: Int
    /// The largest number of members of an object.
    let memberLimit: Int

    /// Skips one value.
    ///
    /// - Parameter depth: the number of arrays and objects around the value.
    func skip(_ input: Span<UInt8>, _ position: inout Int, depth: Int) throws(Failure) {
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
        default: throw Failure(.unexpectedByte(first, expected: "a value"), at: position)
        }
    }

    private func skipObject(_ input: Span<UInt8>, _ position: inout Int, depth: Int) throws(Failure) {
        guard depth < depthLimit else { throw Failure(.tooDeep(limit: depthLimit), at: position) }
        position += 1
        var keys = ObjectKeys(limit: memberLimit)
        var isFirst = true
        while try JSONLexer.nextItem(closing: UInt8(ascii: "}"), isFirst: isFirst, input, &position) {
            isFirst = false
            _ = try JSONLexer.key(input, &position, of: &keys)
            try skip(input, &position, depth: depth + 1)
        }
    }

    private func skipArray(_ input: Span<UInt8>, _ position: inout Int, depth: Int) throws(Failure) {
        guard depth < depthLimit else { throw Failure(.tooDeep(limit: depthLimit), at: position) }
        position += 1
        var isFirst = true
        while try JSONLexer.nextItem(closing: UInt8(ascii: "]"), isFirst: isFirst, input, &position) {
            isFirst = false
            try skip(input, &position, depth: depth + 1)
        }
    }
}
