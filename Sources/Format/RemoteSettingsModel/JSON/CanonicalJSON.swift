/// Writes canonical JSON, the only form of a value that is signed.
///
/// The rules are those of `canonicaljson-rs` 0.9.3, which the server uses. Keys are sorted by code points. There is no
/// white space. Everything outside printable ASCII is escaped: as `\b`, `\f`, `\n`, `\r` or `\t`, otherwise as `\u`
/// and lower-case hex digits. Integers are written as they are. Other numbers have the shortest digits that give the
/// same double, with an exponent (`1.5E0`).
///
/// Anything that `canonicaljson-rs` refuses or would change is refused here: integers outside -2^63…2^64-1, numbers
/// that a double cannot hold, lone surrogates, and duplicate keys. The same pass also refuses what `RFC 8259` refuses.
package struct CanonicalJSON: ~Copyable {
    /// The canonical bytes written so far.
    private(set) var output = OutputBuffer()
    /// The number of values of all kinds that have been written.
    private(set) var values = 0
    private let depthLimit: Int
    private let memberLimit: Int
    // All open objects share one stack. Each object's members begin at its own start on the stack.
    private var members: [CanonicalMember] = []
    private var scratch = OutputBuffer()

    init(limits: Limits) {
        depthLimit = limits.jsonDepth
        memberLimit = limits.jsonMembers
    }

    /// The canonical form of a whole document.
    package static func canonicalize(_ document: Bytes, limits: Limits) throws(FormatError) -> Bytes {
        var canonical = CanonicalJSON(limits: limits)
        try document.withSpan { (span) throws(FormatError) in
            canonical.reserve(span.count)
            var position = 0
            try canonical.writeValue(span, &position)
            JSONLexer.skipWhitespace(span, &position)
            guard position == span.count else { throw FormatError(.trailingData, at: position) }
        }
        return canonical.finish()
    }

    /// Everything that has been written.
    consuming func finish() -> Bytes {
        output.bytes()
    }

    mutating func reserve(_ bytes: Int) {
        output.reserve(bytes)
    }

    /// Reads a value at `position` and writes its canonical form.
    mutating func writeValue(_ input: Span<UInt8>, _ position: inout Int, depth: Int = 0) throws(FormatError) {
        JSONLexer.skipWhitespace(input, &position)
        values += 1
        switch try JSONLexer.peek(input, position) {
        case UInt8(ascii: "\""): _ = try writeString(input, &position)
        case UInt8(ascii: "{"):
            let base = try writeObject(input, &position, depth: depth)
            forgetMembers(from: base)
        case UInt8(ascii: "["): try writeArray(input, &position, depth: depth)
        case UInt8(ascii: "t"): try writeLiteral("true", in: input, at: &position)
        case UInt8(ascii: "f"): try writeLiteral("false", in: input, at: &position)
        case UInt8(ascii: "n"): try writeLiteral("null", in: input, at: &position)
        default: try writeNumber(input, &position)
        }
    }

    private mutating func writeLiteral(
        _ text: StaticString, in input: Span<UInt8>, at position: inout Int
    ) throws(FormatError) {
        try JSONLexer.literal(text, in: input, at: &position)
        output.append(text)
    }

    private mutating func writeArray(_ input: Span<UInt8>, _ position: inout Int, depth: Int) throws(FormatError) {
        try checkDepth(depth, position)
        position += 1
        output.append(UInt8(ascii: "["))
        var isFirst = true
        while try JSONLexer.nextItem(closing: UInt8(ascii: "]"), isFirst: isFirst, input, &position) {
            if !isFirst { output.append(UInt8(ascii: ",")) }
            isFirst = false
            try writeValue(input, &position, depth: depth + 1)
        }
        output.append(UInt8(ascii: "]"))
    }

    /// Writes an object, and leaves its members on the stack, in canonical order.
    ///
    /// - Returns: the position on the stack at which the object's members begin.
    mutating func writeObject(_ input: Span<UInt8>, _ position: inout Int, depth: Int) throws(FormatError) -> Int {
        try checkDepth(depth, position)
        let base = members.count
        let start = output.count
        var isSorted = true
        position += 1
        output.append(UInt8(ascii: "{"))
        while try JSONLexer.nextItem(closing: UInt8(ascii: "}"), isFirst: members.count == base, input, &position) {
            guard members.count < memberLimit else {
                throw FormatError(.tooManyMembers(limit: memberLimit), at: position)
            }
            if members.count > base { output.append(UInt8(ascii: ",")) }
            let member = try writeMember(input, &position, depth: depth)
            if isSorted, members.count > base {
                isSorted = CanonicalMember.order(members[members.count - 1], member, in: output) < 0
            }
            members.append(member)
        }
        if !isSorted { try reorder(from: base, start: start) }
        output.append(UInt8(ascii: "}"))
        return base
    }

    private mutating func writeMember(
        _ input: Span<UInt8>, _ position: inout Int, depth: Int
    ) throws(FormatError) -> CanonicalMember {
        JSONLexer.skipWhitespace(input, &position)
        let inputOffset = position
        let keyStart = output.count + 1
        let isPlain = try writeString(input, &position)
        let keyEnd = output.count - 1
        JSONLexer.skipWhitespace(input, &position)
        try JSONLexer.expect(UInt8(ascii: ":"), "':'", input, &position)
        output.append(UInt8(ascii: ":"))
        try writeValue(input, &position, depth: depth + 1)
        return CanonicalMember(
            keyStart: keyStart, keyEnd: keyEnd, valueEnd: output.count, inputOffset: inputOffset,
            hasPlainKey: isPlain)
    }

    /// Sorts the members of the object that began at `start`, together with their bytes.
    private mutating func reorder(from base: Int, start: Int) throws(FormatError) {
        members[base...].sort { CanonicalMember.order($0, $1, in: output) < 0 }
        for index in members.indices[(base + 1)...]
        where CanonicalMember.order(members[index - 1], members[index], in: output) == 0 {
            throw FormatError(.duplicateKey(members[index].keyText(in: output)), at: members[index].inputOffset)
        }
        scratch.truncate(to: 0)
        for index in members.indices[base...] {
            if index > base { scratch.append(UInt8(ascii: ",")) }
            let range = members[index].range
            members[index].shift(by: start + 1 + scratch.count - range.lowerBound)
            scratch.append(output, range)
        }
        output.truncate(to: start + 1)
        output.append(scratch, 0..<scratch.count)
    }

    private func checkDepth(_ depth: Int, _ position: Int) throws(FormatError) {
        guard depth < depthLimit else { throw FormatError(.tooDeep(limit: depthLimit), at: position) }
    }
}

extension CanonicalJSON {
    /// Writes a string.
    ///
    /// - Returns: whether the written string has no escapes.
    private mutating func writeString(_ input: Span<UInt8>, _ position: inout Int) throws(FormatError) -> Bool {
        try JSONLexer.expect(UInt8(ascii: "\""), "a string", input, &position)
        output.append(UInt8(ascii: "\""))
        var isPlain = true
        while true {
            output.appendPlain(input, &position)
            let byte = try JSONLexer.peek(input, position)
            if byte == UInt8(ascii: "\"") { break }
            if byte == UInt8(ascii: "\\"), position + 1 < input.count,
                unsafe input[unchecked: position + 1] == UInt8(ascii: "/")
            {
                output.append(UInt8(ascii: "/"))
                position += 2
            } else {
                let scalar = try JSONLexer.character(input, &position)
                if !output.appendEscaped(scalar) { isPlain = false }
            }
        }
        position += 1
        output.append(UInt8(ascii: "\""))
        return isPlain
    }

    private mutating func writeNumber(_ input: Span<UInt8>, _ position: inout Int) throws(FormatError) {
        let start = position
        let first = try JSONLexer.peek(input, position)
        guard first == UInt8(ascii: "-") || (first &- 48) < 10 else {
            throw FormatError(.unexpectedByte(first, expected: "a value"), at: start)
        }
        let isInteger = try JSONLexer.number(input, &position)
        // 18 digits fit into any 64-bit integer, so this common case is copied without being parsed.
        if isInteger, position - start <= 18, !(first == UInt8(ascii: "-") && position == start + 2) {
            output.append(input, start..<position)
            return
        }
        let text = input.extracting(start..<position).text
        guard let canonical = isInteger ? CanonicalNumber.integer(text) : CanonicalNumber.double(text) else {
            throw FormatError(.numberOutOfRange(text), at: start)
        }
        output.append(canonical)
    }

    /// The members on the stack from `base` on, for the reader of records.
    func openMembers(from base: Int) -> ArraySlice<CanonicalMember> { members[base...] }

    /// Removes the members from `base` on from the stack. The object's bytes stay.
    mutating func forgetMembers(from base: Int) {
        members.removeLast(members.count - base)
    }

    /// Removes the object that began at `start`, which was written last.
    mutating func discardObject(from base: Int, start: Int) {
        output.truncate(to: start)
        forgetMembers(from: base)
    }
}
