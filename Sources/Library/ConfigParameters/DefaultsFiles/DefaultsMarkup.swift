import RemoteSettingsModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A parser of the XML in property lists and defaults maps: elements, text, the five predefined entities and numeric
/// character references. For security, it supports neither entities declared in the file nor external ones.
struct DefaultsMarkup {
    private enum Token: Hashable {
        case open(String)
        case close(String)
        case empty(String)
        case text(String)
    }

    private let limits: Limits
    private var tokens: ArraySlice<(token: Token, line: Int)> = []

    init(_ bytes: Bytes, limits: Limits) throws(ParameterError) {
        self.limits = limits
        let mark = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        // UTF-16 contains zero bytes, which XML in UTF-8 cannot contain.
        guard var text = String(validating: bytes.array[mark...], as: UTF8.self), !bytes.array.contains(0) else {
            throw ParameterError(problem: "the text is not UTF-8")
        }
        // XML treats every line break as a line feed (XML 1.0, section 2.11).
        text = text.replacing("\r\n", with: "\n").replacing("\r", with: "\n")
        tokens = try Self.tokens(text, limits: limits).map { (token: $0, line: $1) }[...]
    }

    private func error(_ line: Int?, _ problem: String) -> ParameterError {
        ParameterError(line: line ?? tokens.first?.line, problem: problem)
    }

    private static func tokens(_ text: String, limits: Limits) throws(ParameterError) -> [(Token, Int)] {
        var tokens: [(Token, Int)] = []
        var rest = text.unicodeScalars[...]
        var line = 1
        func error(_ problem: String) -> ParameterError { ParameterError(line: line, problem: problem) }
        func skip(_ end: String, _ what: String) throws(ParameterError) -> Substring.UnicodeScalarView {
            guard let range = rest.firstRange(of: end.unicodeScalars) else { throw error("\(what) is not closed") }
            let content = rest[..<range.lowerBound]
            line += content.count { $0 == "\n" }
            rest = rest[range.upperBound...]
            return content
        }
        while let first = rest.first {
            if first != "<" {
                let content = rest.prefix { $0 != "<" }
                rest = rest[content.endIndex...]
                guard let plain = unescaped(content) else { throw error("an entity is not valid; write & as &amp;") }
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
                    throw error("the document type defines entities, which are not supported")
                }
            } else {
                rest = rest.dropFirst()
                let at = line
                let tag = try skip(">", "a tag")
                let name = String(tag.drop { $0 == "/" }.prefix { !$0.properties.isWhitespace && $0 != "/" })
                guard !name.isEmpty else { throw error("a tag has no name") }
                // An attribute value could contain a `>` that does not close the tag, so attributes are refused.
                guard !tag.contains("=") || name == "plist" else { throw error("<\(name)> must not have attributes") }
                tokens.append((tag.first == "/" ? .close(name) : tag.last == "/" ? .empty(name) : .open(name), at))
            }
            // A value and its key each consist of at most two tags and a text, so there are at most six tokens per
            // value.
            guard tokens.count / 6 <= limits.jsonValues else { throw .tooMany(limits, line: line) }
        }
        return tokens
    }

    private static func unescaped(_ text: Substring.UnicodeScalarView) -> String? {
        guard text.contains("&") else { return String(text) }
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

    /// Parses the document.
    ///
    /// - Returns: the defaults, and whether they have types.
    mutating func document() throws(ParameterError) -> ([DefaultsDocument.Member], hasTypes: Bool) {
        let members: [DefaultsDocument.Member]
        var hasTypes = true
        switch next() {
        case .open("plist")?:
            let (token, line) = (next(), tokens.first?.line)
            switch token {
            case .open("dict")?: members = try dictionary(depth: 0)
            case .empty("dict")?: members = []
            default: throw error(line, "the property list does not contain a dictionary")
            }
            try close("plist")
        case .open("defaultsMap")?: (members, hasTypes) = (try map(), false)
        case .empty("defaultsMap")?: (members, hasTypes) = ([], false)
        default: throw error(1, "this is neither a property list nor a <defaultsMap>")
        }
        let line = line
        if next() != nil { throw error(line, "unexpected content after the root element") }
        return (members, hasTypes)
    }

    /// The line of the next tag.
    private var line: Int { tokens.first { !isSpace($0.token) }?.line ?? 1 }

    /// Consumes the next tag and any white space before it.
    private mutating func next() -> Token? {
        while let (token, _) = tokens.popFirst() {
            if !isSpace(token) { return token }
        }
        return nil
    }

    private mutating func close(_ name: String) throws(ParameterError) {
        let line = tokens.first?.line
        guard next() == .close(name) else { throw error(line, "</\(name)> is missing") }
    }

    /// Consumes the text up to an element's closing tag, including white space.
    private mutating func text(of name: String) throws(ParameterError) -> String {
        var text = ""
        let line = tokens.first?.line
        while let (token, _) = tokens.popFirst() {
            switch token {
            case .text(let part): text += part
            case .close(name): return text
            default: throw error(line, "<\(name)> contains a nested element")
            }
        }
        throw error(line, "</\(name)> is missing")
    }

    private mutating func dictionary(depth: Int) throws(ParameterError) -> [DefaultsDocument.Member] {
        var members: [DefaultsDocument.Member] = []
        var keys: Set<ExactString> = []
        while true {
            let line = self.line
            switch next() {
            case .close("dict")?: return members
            case .open("key")?:
                let key = try text(of: "key")
                guard keys.insert(key.exact).inserted else { throw error(line, "the key \(key) appears twice") }
                members.append(.init(key: key, line: line, value: try value(line, depth: depth + 1)))
            default: throw error(line, "a dictionary may contain only keys and values")
            }
        }
    }

    private mutating func value(_ line: Int, depth: Int) throws(ParameterError) -> DefaultsValue {
        guard depth <= limits.jsonDepth else { throw .tooDeep(limits, line: line) }
        switch next() {
        case .empty("true")?: return .json(.bool(true))
        case .empty("false")?: return .json(.bool(false))
        case .empty("string")?: return .json(.string(""))
        case .empty("dict")?: return .mapping([])
        case .empty("array")?: return .list([])
        case .empty("data")?: return .data(Bytes([]))
        case .open("true")?:
            try close("true")
            return .json(.bool(true))
        case .open("false")?:
            try close("false")
            return .json(.bool(false))
        case .open("string")?: return .json(.string(try text(of: "string")))
        case .open("integer")?:
            let text = try text(of: "integer")
            guard let value = DefaultsValue.number(text, limits: limits), case .json(.number(let number)) = value,
                number.int64 != nil || number.uint64 != nil
            else { throw error(line, "\(VisibleText.quote(text)) is not an integer") }
            return value
        case .open("real")?:
            let text = try text(of: "real")
            // Append `.0` to a real number without a fraction or exponent, so that it does not become an integer.
            let isWhole = !text.contains { ".eE".contains($0) }
            guard let number = DefaultsValue.number(isWhole ? "\(text).0" : text, limits: limits) else {
                throw error(line, "\(VisibleText.quote(text)) is not a number that JSON can express")
            }
            return number
        case .open("date")?:
            let text = try text(of: "date")
            guard let time = Timestamp(rfc3339: text) else {
                throw error(line, "\(VisibleText.quote(text)) is not an RFC 3339 date in 1970 or later")
            }
            return .date(time)
        case .open("data")?:
            let text = try text(of: "data").filter { !$0.isWhitespace }
            guard let data = Data(base64Encoded: text) else { throw error(line, "the data is not base64") }
            return .data(Bytes(Array(data)))
        case .open("dict")?: return .mapping(try dictionary(depth: depth))
        case .open("array")?:
            var elements: [DefaultsValue] = []
            while true {
                if let index = tokens.firstIndex(where: { !isSpace($0.token) }), tokens[index].token == .close("array")
                {
                    _ = next()
                    return .list(elements)
                }
                elements.append(try value(tokens.first?.line ?? line, depth: depth + 1))
            }
        case .open(let name)?, .empty(let name)?:
            throw error(line, "<\(name)> is not a value of a property list")
        default: throw error(line, "a key has no value")
        }
    }

    private func isSpace(_ token: Token) -> Bool {
        if case .text(let text) = token { text.unicodeScalars.allSatisfy(\.properties.isWhitespace) } else { false }
    }

    private mutating func map() throws(ParameterError) -> [DefaultsDocument.Member] {
        var members: [DefaultsDocument.Member] = []
        var keys: Set<ExactString> = []
        while true {
            let line = self.line
            switch next() {
            case .close("defaultsMap")?: return members
            case .open("entry")?:
                guard next() == .open("key") else { throw error(line, "an entry has no key") }
                let key = try text(of: "key")
                guard keys.insert(key.exact).inserted else { throw error(line, "the key \(key) appears twice") }
                let value: String
                switch next() {
                case .open("value")?: value = try text(of: "value")
                case .empty("value")?: value = ""
                default: throw error(line, "the entry of \(key) has no value")
                }
                try close("entry")
                members.append(.init(key: key, line: line, value: .json(.string(value))))
            default: throw error(line, "a <defaultsMap> may contain only entries")
            }
        }
    }
}
