import RemoteSettingsModel

/// A value of a source file, in YAML or JSON, with the line on which it begins.
package struct SourceNode: Sendable {
    package enum Content: Sendable {
        case null
        case bool(Bool)
        case number(JSONNumber)
        case string(String)
        case list([SourceNode])
        case mapping([Member])
    }

    package struct Member: Sendable {
        package let key: String
        /// The line of the key.
        package let line: Int
        package let value: SourceNode

        init(key: String, line: Int, value: SourceNode) {
            self.key = key
            self.line = line
            self.value = value
        }
    }

    package let content: Content
    package let line: Int

    init(content: Content, line: Int) {
        self.content = content
        self.line = line
    }

    package var json: JSONValue {
        switch content {
        case .null: .null
        case .bool(let value): .bool(value)
        case .number(let number): .number(number)
        case .string(let text): .string(text)
        case .list(let elements): .array(elements.map(\.json))
        case .mapping(let members): .object(members.map { .init(key: $0.key, value: $0.value.json) })
        }
    }

    package var string: String? { if case .string(let text) = content { text } else { nil } }
    package var members: [Member]? { if case .mapping(let members) = content { members } else { nil } }
    package var isNull: Bool { if case .null = content { true } else { false } }

    package subscript(key: String) -> SourceNode? { members?.first { $0.key.exact == key.exact }?.value }

    /// Returns the line of the value at a path of keys and indexes. If there is no such value, it is the line of the
    /// last existing value on the path.
    package func line(at path: some Sequence<String>) -> Int {
        var node = self
        var line = line
        for step in path {
            switch node.content {
            case .mapping(let members):
                guard let member = members.first(where: { $0.key.exact == step.exact }) else { return line }
                line = member.line
                node = member.value
            case .list(let elements):
                guard let index = Int(step), elements.indices.contains(index) else { return line }
                node = elements[index]
                line = node.line
            default: return line
            }
        }
        return line
    }

    /// The kind of the value, as named in errors.
    package var kind: String {
        switch content {
        case .null: "empty"
        case .bool(let value): "\(value)"
        case .number(let number): "the number \(String(number.text.prefix(40)))"
        case .string(let text): "the string \(VisibleText.quote(text))"
        case .list: "a list"
        case .mapping: "a mapping"
        }
    }
}

/// A strict parser of source files. It parses JSON with this package's own parser, and YAML with libyaml.
package struct SourceReader {
    let file: String

    package init(file: String) {
        self.file = file
    }

    /// Parses a document.
    ///
    /// - Throws: `Failure` with the line of the problem.
    package func node(_ text: Bytes) throws(Failure) -> SourceNode {
        file.hasSuffix(".json") ? try json(text) : try yaml(text)
    }

    private func error(_ line: Int?, _ problem: String, _ remedy: String) -> Failure {
        Failure(place: file, line: line, problem: problem, remedy: remedy)
    }

    /// Parses JSON, whatever the file's name is.
    package func json(_ text: Bytes) throws(Failure) -> SourceNode {
        do throws(Failure) {
            var reader = JSONReader(text)
            var lines = LineCounter(text)
            let node = try value(&reader, &lines)
            try reader.finish()
            return node
        } catch {
            throw self.error(error.line(in: text), "not JSON: \(error.problem)", "correct this line")
        }
    }

    private func value(_ reader: inout JSONReader, _ lines: inout LineCounter) throws(Failure) -> SourceNode {
        let (line, first) = lines.next(from: reader.offset)
        switch first {
        case UInt8(ascii: "{"):
            var members: [SourceNode.Member] = []
            try reader.beginObject()
            while true {
                let before = lines.next(from: reader.offset).line
                guard let key = try reader.nextKey() else { break }
                members.append(.init(key: key, line: before, value: try value(&reader, &lines)))
            }
            return SourceNode(content: .mapping(members), line: line)
        case UInt8(ascii: "["):
            var elements: [SourceNode] = []
            try reader.beginArray()
            while try reader.nextElement() { elements.append(try value(&reader, &lines)) }
            return SourceNode(content: .list(elements), line: line)
        case UInt8(ascii: "\""): return SourceNode(content: .string(try reader.string()), line: line)
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return SourceNode(content: .bool(try reader.bool()), line: line)
        case UInt8(ascii: "n"):
            // Do not call `null()` here: if an extra comma precedes the value, it returns false instead of throwing.
            try reader.skipValue()
            return SourceNode(content: .null, line: line)
        default: return SourceNode(content: .number(try reader.number()), line: line)
        }
    }

    /// A counter that finds the lines of ascending offsets in one pass over the document.
    private struct LineCounter {
        private let document: Bytes
        private var offset = 0
        private var line = 1

        init(_ document: Bytes) {
            self.document = document
        }

        /// Returns the line of the first token at or after an offset, and that token's first byte; 0 after the last
        /// token.
        mutating func next(from start: Int) -> (line: Int, byte: UInt8) {
            document.withSpan { span in
                while offset < span.count {
                    let byte = span[offset]
                    if offset >= start, ![0x20, 0x09, 0x0A, 0x0D, 0x2C, 0x3A].contains(byte) { return (line, byte) }
                    let end = span.lineEnd(at: offset)
                    if end > 0 { line += 1 }  // bounded: by the document
                    offset += max(end, 1)  // bounded: by the document
                }
                return (line, 0)
            }
        }
    }

    package func yaml(_ bytes: Bytes) throws(Failure) -> SourceNode {
        guard String(validating: bytes.array, as: UTF8.self) != nil else {
            throw error(nil, "the text is not UTF-8", "save it as UTF-8")
        }
        guard let root = try YAMLNode.composed(bytes, file: file, canBeJSON: true) else {
            throw error(nil, "the file is empty", "add a line with records: or parameters:")
        }
        return try node(root)
    }

    func node(_ node: YAMLNode) throws(Failure) -> SourceNode {
        let line = node.line
        switch node.content {
        case .scalar(let scalar):
            let isText = scalar.tag == "tag:yaml.org,2002:str"
            if let tag = scalar.tag, !isText {
                throw error(line, "the tag \(tag) is not supported", "write the value without it")
            }
            guard scalar.isPlain, !isText else { return SourceNode(content: .string(scalar.string), line: line) }
            guard let content = PlainScalar.content(scalar.string) else {
                throw error(
                    line, "\(scalar.string) is a string to some YAML readers and another type to others",
                    "put it in quotes if it is a string, or write it as in JSON")
            }
            return SourceNode(content: content, line: line)
        case .sequence(let elements):
            var list: [SourceNode] = []
            list.reserveCapacity(elements.count)
            for element in elements { list.append(try self.node(element)) }
            return SourceNode(content: .list(list), line: line)
        case .mapping(let pairs):
            var members: [SourceNode.Member] = []
            for (key, value) in pairs {
                members.append(.init(key: key.string ?? "", line: key.line, value: try self.node(value)))
            }
            return SourceNode(content: .mapping(members), line: line)
        }
    }
}

/// The interpretation of unquoted YAML scalars. One that YAML parsers interpret differently has none.
package enum PlainScalar {
    /// Parses an unquoted scalar.
    ///
    /// - Returns: `nil` if YAML parsers interpret the string differently, as for `no`, `0x1F`, `.5`, `1_000` or
    ///   `12:30`.
    package static func content(_ text: String) -> SourceNode.Content? {
        switch text {
        case "", "~", "null": return .null
        case "true": return .bool(true)
        case "false": return .bool(false)
        default: break
        }
        if let first = text.utf8.first, first == UInt8(ascii: "-") || (48...57).contains(first),
            case .number(let number)? = try? JSONValue(parsing: Bytes(utf8: text))
        {
            return .number(number)
        }
        return isAmbiguous(text) ? nil : .string(text)
    }

    private static func isAmbiguous(_ text: String) -> Bool {
        guard text.utf8.count <= 40 else { return false }
        let lower = text.lowercased()
        if ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "<<", "="].contains(lower) { return true }
        var digits = lower[...]
        if let sign = digits.first, sign == "+" || sign == "-" { digits = digits.dropFirst() }
        if digits == ".inf" || digits == ".nan" { return true }
        for (prefix, allowed) in [("0x", "0123456789abcdef_"), ("0o", "01234567_"), ("0b", "01_")]
        where digits.hasPrefix(prefix) && digits.utf8.count > 2 {
            return digits.dropFirst(2).allSatisfy { allowed.contains($0) }
        }
        guard digits.contains(where: { ("0"..."9").contains($0) }) else { return false }
        // Detects floats, integers with a sign, an underscore or a leading zero, and base-60 numbers.
        let parts = digits.split(separator: "e", maxSplits: 1, omittingEmptySubsequences: false)
        let mantissa = parts[0].split(separator: ".", omittingEmptySubsequences: false)
        func isDigits(_ text: Substring) -> Bool { text.allSatisfy { ("0"..."9").contains($0) || $0 == "_" } }
        if mantissa.count <= 2, mantissa.allSatisfy(isDigits), mantissa.contains(where: { !$0.isEmpty }) {
            guard parts.count == 2 else { return true }
            let exponent = parts[1].drop { $0 == "+" || $0 == "-" }
            return !exponent.isEmpty && isDigits(exponent)
        }
        let sixties = digits.split(separator: ":", omittingEmptySubsequences: false)
        return sixties.count > 1 && sixties.allSatisfy { !$0.isEmpty && isDigits($0.prefix { $0 != "." }) }
    }
}
