import RemoteSettingsModel

/// The shape of a property list: how deep its values nest, and how many there are.
///
/// Foundation's readers have no limits of their own: they call themselves for each level of XML until the stack ends, and
/// follow a binary list's references from object to object, also where they lead in a circle or multiply.
struct PropertyListShape {
    private let bytes: [UInt8]
    private let limits: Limits

    /// What is wrong with a property list; `nil` where it is safe to be read. No I/O.
    static func problem(_ bytes: [UInt8], limits: Limits) -> String? {
        let shape = PropertyListShape(bytes: bytes, limits: limits)
        do throws(Problem) {
            if bytes.starts(with: "bplist".utf8) { try shape.checkBinary() } else { try shape.checkText() }
            return nil
        } catch {
            return error.text
        }
    }

    private struct Problem: Error { let text: String }

    private var tooDeep: Problem { Problem(text: "values that nest deeper than \(limits.jsonDepth) levels") }

    // MARK: Binary

    /// Where objects lie: a table of offsets, found by the list's last 32 bytes.
    private struct Table {
        let start: Int
        let offsetSize: Int
        let referenceSize: Int
        let objects: Int
    }

    private func checkBinary() throws(Problem) {
        let damaged = Problem(text: "a damaged binary list")
        // "bplist00", one object, its offset, and the trailer.
        guard bytes.count >= 42 else { throw damaged }
        let trailer = bytes.count - 32
        let (offsetSize, referenceSize) = (Int(bytes[trailer + 6]), Int(bytes[trailer + 7]))
        guard (1...8).contains(offsetSize), (1...8).contains(referenceSize),
            let objects = number(at: trailer + 8, 8), let top = number(at: trailer + 16, 8),
            let start = number(at: trailer + 24, 8), start >= 8, start <= trailer, top < objects,
            objects <= (trailer - start) / offsetSize
        else { throw damaged }
        let table = Table(start: start, offsetSize: offsetSize, referenceSize: referenceSize, objects: objects)
        var left = limits.jsonValues
        try visit(top, table, depth: 0, &left)
    }

    /// Follows an object's references as a reader does that makes a value of each.
    private func visit(_ object: Int, _ table: Table, depth: Int, _ left: inout Int) throws(Problem) {
        guard depth <= limits.jsonDepth else { throw tooDeep }
        guard left > 0 else { throw Problem(text: "more than \(limits.jsonValues) values") }
        left -= 1
        guard object < table.objects, let start = number(at: table.start + object * table.offsetSize, table.offsetSize),
            start < table.start
        else { throw Problem(text: "a reference to no object") }
        let kind = bytes[start] >> 4
        // Arrays, two kinds of sets, and dictionaries; nothing else has references.
        guard (0xA...0xD).contains(kind) else { return }
        var (first, count) = (start + 1, Int(bytes[start] & 0xF))
        if count == 0xF {
            let size = 1 << Int(min(bytes[start + 1] & 0xF, 4))
            guard bytes[start + 1] >> 4 == 1, size <= 8, let long = number(at: start + 2, size) else {
                throw Problem(text: "a collection without a size")
            }
            (first, count) = (start + 2 + size, long)
        }
        let references = count.multipliedReportingOverflow(by: kind == 0xD ? 2 : 1)
        guard !references.overflow, first <= table.start,
            references.partialValue <= (table.start - first) / table.referenceSize
        else { throw Problem(text: "a collection that is larger than the list") }
        for index in 0..<references.partialValue {
            guard let next = number(at: first + index * table.referenceSize, table.referenceSize) else {
                throw Problem(text: "a reference to no object")
            }
            try visit(next, table, depth: depth + 1, &left)
        }
    }

    /// A number of 1 to 8 bytes, the highest first; `nil` where it does not lie in the list, or `Int` cannot hold it.
    private func number(at offset: Int, _ size: Int) -> Int? {
        guard offset >= 0, offset <= bytes.count - size else { return nil }
        var value: UInt64 = 0
        for byte in bytes[offset..<offset + size] { value = value << 8 | UInt64(byte) }
        return Int(exactly: value)
    }

    // MARK: XML

    /// Counts the tags that are open. What is no XML has no tags that matter here.
    private func checkText() throws(Problem) {
        // The bytes of UTF-16 and UTF-32 are not those of the tags; and Foundation traps on invalid UTF-8 in an <integer>.
        guard !bytes.contains(0), String(validating: bytes, as: UTF8.self) != nil else {
            throw Problem(text: "a text that is not UTF-8")
        }
        let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        let isXML = bytes[start...].first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } == UInt8(ascii: "<")
        guard isXML else { return }
        var (depth, values, position) = (0, 0, start)
        func follows(_ text: StaticString) -> Bool { bytes[position...].starts(with: "\(text)".utf8) }
        /// Moves behind the next place of a text; to the end where there is none.
        func skip(to end: [UInt8]) {
            while position < bytes.count, !bytes[position...].starts(with: end) { position += 1 }
            position = min(bytes.count, position + end.count)
        }
        while let next = bytes[position...].firstIndex(of: UInt8(ascii: "<")) {
            position = next
            if follows("<!--") {
                skip(to: Array("-->".utf8))
            } else if follows("<![CDATA[") {
                skip(to: Array("]]>".utf8))
            } else if follows("<?") {
                skip(to: Array("?>".utf8))
            } else {
                skip(to: [UInt8(ascii: ">")])
                let tag = bytes[next..<position]
                guard !tag.contains(UInt8(ascii: "[")) else { throw Problem(text: "a document type of its own") }
                // A > between quotes would not be the tag's end.
                guard !tag.contains(UInt8(ascii: "=")) || tag.starts(with: "<plist".utf8) || tag.starts(with: "<!".utf8)
                else { throw Problem(text: "an attribute") }
                if tag.starts(with: "</".utf8) {
                    depth -= 1
                } else if !tag.starts(with: "<!".utf8) {
                    values += 1
                    if tag.dropLast().last != UInt8(ascii: "/") { depth += 1 }
                }
                // The elements <plist> and the innermost value are not levels of nesting.
                guard depth <= limits.jsonDepth + 2 else { throw tooDeep }
                guard values <= limits.jsonValues else { throw Problem(text: "more than \(limits.jsonValues) values") }
            }
        }
    }
}
