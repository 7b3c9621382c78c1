/// Writes canonical JSON, the form in which records are signed.
///
/// The rules are those of `canonicaljson-rs` 0.9.3, which the server uses. Keys are sorted by code points. There is no
/// white space. All characters outside printable ASCII are escaped: as `\b`, `\f`, `\n`, `\r` or `\t`, otherwise as
/// `\u` and lower-case hex digits. Integers remain unchanged. Other numbers are written with an exponent (`1.5E0`) and
/// the shortest digits that give the same double.
///
/// Values that `canonicaljson-rs` refuses or changes are errors: integers outside -2^63…2^64-1, and numbers that a
/// double cannot represent. ``JSONReader`` has already refused lone surrogates and duplicate keys.
package enum CanonicalJSON {
    /// Returns the canonical form of a whole document.
    package static func canonicalize(_ document: Bytes) throws(Failure) -> Bytes {
        let value = try JSONValue(parsing: document)
        var output: [UInt8] = []
        output.reserveCapacity(document.count)
        try append(value, to: &output)
        return Bytes(output)
    }

    /// Appends the canonical form of a value.
    ///
    /// - Parameter offset: the position of the value in its document, for the error.
    static func append(_ value: JSONValue, to output: inout [UInt8], offset: Int = 0) throws(Failure) {
        switch value {
        case .null: output.append(contentsOf: "null".utf8)
        case .bool(let bool): output.append(contentsOf: (bool ? "true" : "false").utf8)
        case .number(let number):
            guard let text = number.canonical else { throw Failure(.numberOutOfRange(number.text), at: offset) }
            output.append(contentsOf: text.utf8)
        case .string(let text): JSONString.append(text, .canonical, to: &output)
        case .array(let elements):
            output.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                try append(element, to: &output, offset: offset)
            }
            output.append(UInt8(ascii: "]"))
        case .object(let members): try append(members, to: &output, offset: offset) { _, _ in }
        }
    }

    /// Appends the canonical form of an object, and passes the position of each value to `place`.
    static func append(
        _ members: [JSONValue.Member], to output: inout [UInt8], offset: Int,
        place: (_ member: JSONValue.Member, _ start: Int) -> Void
    ) throws(Failure) {
        // Avoid sorting when possible, because servers send the members of most objects in order.
        let isOrdered = zip(members, members.dropFirst()).allSatisfy { $0.name < $1.name }
        let ordered = isOrdered ? members : members.sorted { $0.name < $1.name }
        output.append(UInt8(ascii: "{"))
        for (index, member) in ordered.enumerated() {
            if index > 0 { output.append(UInt8(ascii: ",")) }
            JSONString.append(member.key, .canonical, to: &output)
            output.append(UInt8(ascii: ":"))
            place(member, output.count)
            try append(member.value, to: &output, offset: offset)
        }
        output.append(UInt8(ascii: "}"))
    }
}
