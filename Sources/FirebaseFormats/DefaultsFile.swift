import AuthoredText
import CollectionSources
import ConfigParameters
import RemoteSettingsModel

/// A file of in-app defaults, converted to the short form of remote config: an XML property list, JSON, or the XML of Android
/// (`<defaultsMap>`). No I/O.
package struct DefaultsFile: Sendable {
    /// The source file, as YAML.
    package let source: Bytes
    /// The defaults themselves.
    package let inAppDefaults: InAppDefaults

    /// - Parameter file: the name, for errors.
    /// - Throws: ``SourceProblems``.
    package init(_ bytes: Bytes, file: String, limits: Limits = Limits()) throws(SourceProblems) {
        let members: [SourceNode.Member]
        var hasTypes = true
        do throws(ConfigurationError) {
            guard !bytes.starts(with: "bplist".utf8) else {
                throw ConfigurationError(
                    file: file, problem: "it is a binary property list",
                    remedy: "convert it with: plutil -convert xml1 FILE")
            }
            let first = bytes.array.first { ![0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF].contains($0) }
            if first == UInt8(ascii: "<") {
                var markup = try DefaultsMarkup(bytes, file: file, limits: limits)
                (members, hasTypes) = try markup.document()
            } else {
                members = try Self.json(bytes, file: file, limits: limits)
            }
        } catch {
            throw SourceProblems(problems: [error])
        }
        var problems = ProblemList()
        for member in members where !ParameterRecord.isKey(member.key) {
            let name = String(reflecting: String(member.key.prefix(60)))
            problems.add(
                file, member.line, "no parameter can have the name \(name)",
                "give it 1 to \(ParameterRecord.keyScalars) characters, none of them a control character")
        }
        guard problems.problems.isEmpty else { throw SourceProblems(problems: problems.problems) }
        var text = SourceText()
        text.line(0, members.isEmpty ? "parameters: {}" : "parameters:")
        for member in members {
            switch member.value.content {
            case .mapping, .null:
                text.line(1, "\(SourceText.key(member.key)):")
                text.line(2, "value: \(SourceText.value(member.value.json))")
            default: text.line(1, "\(SourceText.key(member.key)): \(SourceText.value(member.value.json))")
            }
        }
        source = try text.checked(file, limits)
        inAppDefaults = InAppDefaults(
            values: Dictionary(members.map { ($0.key, $0.value.json) }) { _, last in last }, hasTypes: hasTypes)
    }

    private static func json(
        _ bytes: Bytes, file: String, limits: Limits
    ) throws(ConfigurationError) -> [SourceNode.Member] {
        let node = try SourceReader(file: file.hasSuffix(".json") ? file : "\(file).json", limits: limits).node(bytes)
        guard let members = node.members else {
            throw ConfigurationError(
                file: file, line: node.line, problem: "the file is \(node.kind)", remedy: "write key: value pairs")
        }
        return members
    }
}

/// The XML of property lists and of defaults maps: elements and texts, the five entities and numbered characters. Neither
/// entities of its own nor anything outside of the file are looked at.
private struct DefaultsMarkup {
    private enum Token: Hashable {
        case open(String)
        case close(String)
        case empty(String)
        case text(String)
    }

    private let file: String
    private let limits: Limits
    private var tokens: ArraySlice<(token: Token, line: Int)> = []

    init(_ bytes: Bytes, file: String, limits: Limits) throws(ConfigurationError) {
        self.file = file
        self.limits = limits
        guard let text = String(validating: bytes.array, as: UTF8.self) else {
            throw ConfigurationError(file: file, problem: "the text is not UTF-8", remedy: "save it as UTF-8")
        }
        tokens = try Self.tokens(text, file: file).map { (token: $0, line: $1) }[...]
    }

    private func error(_ line: Int?, _ problem: String) -> ConfigurationError {
        ConfigurationError(
            file: file, line: line ?? tokens.first?.line, problem: problem, remedy: "export the defaults again")
    }

    private static func tokens(_ text: String, file: String) throws(ConfigurationError) -> [(Token, Int)] {
        var tokens: [(Token, Int)] = []
        var rest = text.unicodeScalars[...]
        var line = 1
        func error(_ problem: String) -> ConfigurationError {
            ConfigurationError(file: file, line: line, problem: problem, remedy: "export the defaults again")
        }
        func skip(_ end: String, _ what: String) throws(ConfigurationError) -> Substring.UnicodeScalarView {
            guard let range = rest.firstRange(of: end.unicodeScalars) else { throw error("\(what) has no end") }
            let content = rest[..<range.lowerBound]
            line += content.count { $0 == "\n" }
            rest = rest[range.upperBound...]
            return content
        }
        while let first = rest.first {
            if first != "<" {
                let content = rest.prefix { $0 != "<" }
                rest = rest[content.endIndex...]
                guard let plain = unescaped(content) else { throw error("an entity is not known") }
                tokens.append((.text(plain), line))
                line += content.count { $0 == "\n" }
            } else if rest.starts(with: "<!--".unicodeScalars) {
                _ = try skip("-->", "a comment")
            } else if rest.starts(with: "<![CDATA[".unicodeScalars) {
                rest = rest.dropFirst(9)
                tokens.append((.text(String(try skip("]]>", "a CDATA section"))), line))
            } else if rest.starts(with: "<?".unicodeScalars) {
                _ = try skip("?>", "a processing instruction")
            } else if rest.starts(with: "<!".unicodeScalars) {
                guard !(try skip(">", "the document type")).contains("[") else {
                    throw error("the document type defines entities")
                }
            } else {
                rest = rest.dropFirst()
                let at = line
                let tag = try skip(">", "a tag")
                let name = String(tag.drop { $0 == "/" }.prefix { !$0.properties.isWhitespace && $0 != "/" })
                guard !name.isEmpty else { throw error("a tag has no name") }
                tokens.append((tag.first == "/" ? .close(name) : tag.last == "/" ? .empty(name) : .open(name), at))
            }
            guard tokens.count <= 1_000_000 else { throw error("there are more than a million tags") }
        }
        return tokens
    }

    private static func unescaped(_ text: Substring.UnicodeScalarView) -> String? {
        guard text.contains("&") else { return String(text).replacing("\r\n", with: "\n") }
        var output = String.UnicodeScalarView()
        var rest = text
        while let scalar = rest.popFirst() {
            guard scalar == "&" else {
                output.append(scalar)
                continue
            }
            let name = rest.prefix { $0 != ";" }
            guard name.count <= 10, name.endIndex < rest.endIndex else { return nil }
            rest = rest[name.endIndex...].dropFirst()
            switch String(name) {
            case "amp": output.append("&")
            case "lt": output.append("<")
            case "gt": output.append(">")
            case "quot": output.append("\"")
            case "apos": output.append("'")
            case let number where number.hasPrefix("#"):
                let value =
                    number.hasPrefix("#x") ? UInt32(number.dropFirst(2), radix: 16) : UInt32(number.dropFirst())
                guard let value, let scalar = Unicode.Scalar(value), value != 0 else { return nil }
                output.append(scalar)
            default: return nil
            }
        }
        return String(output)
    }

    // MARK: Documents

    /// - Returns: the defaults, and whether they have types.
    mutating func document() throws(ConfigurationError) -> ([SourceNode.Member], hasTypes: Bool) {
        let members: [SourceNode.Member]
        var hasTypes = true
        switch next() {
        case .open("plist")?:
            let (token, line) = (next(), tokens.first?.line)
            switch token {
            case .open("dict")?: members = try dictionary(depth: 0)
            case .empty("dict")?: members = []
            default: throw error(line, "the property list has no dictionary")
            }
            try close("plist")
        case .open("defaultsMap")?: (members, hasTypes) = (try map(), false)
        case .empty("defaultsMap")?: (members, hasTypes) = ([], false)
        default: throw error(1, "it is neither a property list nor a <defaultsMap>")
        }
        if let token = next() { throw error(nil, "\(token) follows the end") }
        return (members, hasTypes)
    }

    /// The next tag; white space between tags is passed over.
    private mutating func next() -> Token? {
        while let (token, _) = tokens.popFirst() {
            if case .text(let text) = token, text.unicodeScalars.allSatisfy(\.properties.isWhitespace) { continue }
            return token
        }
        return nil
    }

    private mutating func close(_ name: String) throws(ConfigurationError) {
        let line = tokens.first?.line
        guard next() == .close(name) else { throw error(line, "</\(name)> is missing") }
    }

    /// The text up to the end of an element, white space included.
    private mutating func text(of name: String) throws(ConfigurationError) -> String {
        var text = ""
        let line = tokens.first?.line
        while let (token, _) = tokens.popFirst() {
            switch token {
            case .text(let part): text += part
            case .close(name): return text
            default: throw error(line, "<\(name)> has another element in it")
            }
        }
        throw error(line, "</\(name)> is missing")
    }

    private mutating func dictionary(depth: Int) throws(ConfigurationError) -> [SourceNode.Member] {
        var members: [SourceNode.Member] = []
        var keys: Set<String> = []
        while true {
            let line = tokens.first?.line ?? 1
            switch next() {
            case .close("dict")?: return members
            case .open("key")?:
                let key = try text(of: "key")
                guard keys.insert(key).inserted else { throw error(line, "the key \(key) appears twice") }
                members.append(.init(key: key, line: line, value: try value(line, depth: depth + 1)))
            default: throw error(line, "a dictionary has something else than keys and values")
            }
        }
    }

    private mutating func value(_ line: Int, depth: Int) throws(ConfigurationError) -> SourceNode {
        guard depth < limits.jsonDepth else { throw error(line, "values nest deeper than \(limits.jsonDepth) levels") }
        let token = next()
        let content: SourceNode.Content
        switch token {
        case .empty("true")?: content = .bool(true)
        case .empty("false")?: content = .bool(false)
        case .empty("string")?: content = .string("")
        case .empty("dict")?: content = .mapping([])
        case .empty("array")?: content = .list([])
        case .open("true")?:
            _ = try text(of: "true")
            content = .bool(true)
        case .open("false")?:
            _ = try text(of: "false")
            content = .bool(false)
        case .open("string")?: content = .string(try text(of: "string"))
        case .open("integer")?:
            let text = try text(of: "integer")
            guard let number = number(text), number.int64 != nil || number.uint64 != nil else {
                throw error(line, "\(String(reflecting: text)) is no integer")
            }
            content = .number(number)
        case .open("real")?:
            let text = try text(of: "real")
            // A real without a fraction stays a real, and no integer.
            let isWhole = !text.contains { ".eE".contains($0) }
            guard let number = number(isWhole ? "\(text).0" : text) else {
                throw error(line, "\(String(reflecting: text)) is no number that JSON has")
            }
            content = .number(number)
        case .open("dict")?: content = .mapping(try dictionary(depth: depth))
        case .open("array")?:
            var elements: [SourceNode] = []
            while true {
                if let index = tokens.firstIndex(where: { !isSpace($0.token) }), tokens[index].token == .close("array")
                {
                    _ = next()
                    break
                }
                elements.append(try value(tokens.first?.line ?? line, depth: depth + 1))
            }
            content = .list(elements)
        case .open(let name)?, .empty(let name)?:
            throw error(line, "<\(name)> has no form in JSON")
        default: throw error(line, "a key has no value")
        }
        return SourceNode(content: content, line: line)
    }

    private func isSpace(_ token: Token) -> Bool {
        if case .text(let text) = token { text.unicodeScalars.allSatisfy(\.properties.isWhitespace) } else { false }
    }

    private func number(_ text: String) -> JSONNumber? {
        guard case .number(let number)? = try? JSONValue(parsing: Bytes(utf8: text), limits: limits) else { return nil }
        return number
    }

    private mutating func map() throws(ConfigurationError) -> [SourceNode.Member] {
        var members: [SourceNode.Member] = []
        var keys: Set<String> = []
        while true {
            let line = tokens.first?.line ?? 1
            switch next() {
            case .close("defaultsMap")?: return members
            case .open("entry")?:
                guard next() == .open("key") else { throw error(line, "an entry has no key") }
                let key = try text(of: "key")
                guard keys.insert(key).inserted else { throw error(line, "the key \(key) appears twice") }
                let value: String
                switch next() {
                case .open("value")?: value = try text(of: "value")
                case .empty("value")?: value = ""
                default: throw error(line, "the entry of \(key) has no value")
                }
                try close("entry")
                members.append(.init(key: key, line: line, value: SourceNode(content: .string(value), line: line)))
            default: throw error(line, "a <defaultsMap> has something else than entries")
            }
        }
    }
}
