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

    private var tokens: ArraySlice<(token: Token, line: Int)> = []

    init(_ bytes: Bytes) throws(Failure) {
        let mark = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        // UTF-16 contains zero bytes, which XML in UTF-8 cannot contain.
        guard var text = String(validating: bytes.array[mark...], as: UTF8.self), !bytes.array.contains(0) else {
            throw Failure(notDefaults: "the text is not UTF-8")
        }
        // XML treats every line break as a line feed (XML 1.0, section 2.11).
        text = text.replacing("\r\n", with: "\n").replacing("\r", with: "\n")
        tokens = try Self.tokens(text).map { (token: $0, line: $1) }[...]
    }

    private func error(_ line: Int?, _ problem: String) -> Failure {
        Failure(line: line ?? tokens.first?.line, notDefaults: problem)
    }

    private static func tokens(_ text: String) throws(Failure) -> [(Token, Int)] {
        var tokens: [(Token, Int)] = []
        var rest = text.unicodeScalars[...]
        var line = 1
        var root: String?
        func error(_ problem: String) -> Failure { Failure(line: line, notDefaults: problem) }
        func skip(_ end: String, _ what: String) throws(Failure) -> Substring.UnicodeScalarView {
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
                guard let end = Self.tagEnd(in: rest) else { throw error("a tag is not closed") }
                let tag = rest[..<end]
                line += tag.count { $0 == "\n" }
                rest = rest[end...].dropFirst()
                let name = String(tag.drop { $0 == "/" }.prefix { !$0.properties.isWhitespace && $0 != "/" })
                guard !name.isEmpty else { throw error("a tag has no name") }
                root = root ?? name
                guard !tag.contains("=") || root != "plist" || name == "plist" else {
                    throw error("<\(name)> must not have attributes")
                }
                tokens.append((tag.first == "/" ? .close(name) : tag.last == "/" ? .empty(name) : .open(name), at))
            }
            // A value and its key each consist of at most two tags and a text, so there are at most six tokens per
            // value.
            guard tokens.count / 6 <= Limits.jsonValues else { throw .tooMany(line: line) }
        }
        return tokens
    }

    /// Returns the position of the `>` that closes a tag. Attribute values may contain others.
    private static func tagEnd(in tag: Substring.UnicodeScalarView) -> String.Index? {
        var quote: Unicode.Scalar?
        return tag.indices.first { index in
            let scalar = tag[index]
            if let open = quote {
                if scalar == open { quote = nil }
                return false
            }
            if scalar == "\"" || scalar == "'" { quote = scalar }
            return scalar == ">"
        }
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

    /// Parses the document: a property list if its root element is `plist` or `dict`, otherwise an Android resource, in
    /// which the name of the root element has no meaning.
    ///
    /// - Returns: the defaults, and whether they have types.
    mutating func document() throws(Failure) -> ([DefaultsDocument.Member], hasTypes: Bool) {
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
        case .open("dict")?: members = try dictionary(depth: 0)
        case .empty("dict")?: members = []
        case .open(let root)?: (members, hasTypes) = (try map(root), false)
        case .empty("defaultsMap")?: (members, hasTypes) = ([], false)
        default: throw error(1, "this is neither a property list nor Android's XML with an <entry> for each default")
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

    private mutating func close(_ name: String) throws(Failure) {
        let line = tokens.first?.line
        guard next() == .close(name) else { throw error(line, "</\(name)> is missing") }
    }

    /// Consumes the text up to an element's closing tag, including white space.
    private mutating func text(of name: String) throws(Failure) -> String {
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

    private mutating func dictionary(depth: Int) throws(Failure) -> [DefaultsDocument.Member] {
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

    private mutating func value(_ line: Int, depth: Int) throws(Failure) -> DefaultsValue {
        guard depth <= Limits.jsonDepth else { throw .tooDeep(line: line) }
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
            guard let number = PropertyListNumber.integer(text) else {
                throw error(line, "\(VisibleText.quote(text)) is not an integer from -2^63 to 2^64-1")
            }
            return .json(.number(number))
        case .open("real")?:
            let text = try text(of: "real")
            guard let json = PropertyListNumber.real(text), let number = DefaultsValue.number(json)
            else { throw error(line, "\(VisibleText.quote(text)) is not a number that JSON can express") }
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

    /// Reads the rest of an Android resource like Firebase's SDK for Android: an `<entry>` may be anywhere, the last
    /// `<key>` and the last `<value>` in it are used, and other elements are ignored.
    private mutating func map(_ root: String) throws(Failure) -> [DefaultsDocument.Member] {
        var members: [DefaultsDocument.Member] = []
        var keys: Set<ExactString> = []
        var open = [root]
        var hasOthers = false
        var (key, value, start) = (String?.none, String?.none, 1)
        while let name = open.last {
            let line = tokens.first?.line
            guard let (token, _) = tokens.popFirst() else { throw error(line, "</\(name)> is missing") }
            switch token {
            case .text(let text):
                // Comments and CDATA sections divide a text into several tokens.
                if name == "key" { key = (key ?? "") + text }
                if name == "value" { value = (value ?? "") + text }
            case .open(let name), .empty(let name):
                switch name {
                case "entry": (key, value, start) = (nil, nil, line ?? 1)
                case "key": key = ""
                case "value": value = ""
                default: hasOthers = true
                }
                if case .open = token { open.append(name) } else if name == "entry" { try addEntry() }
            case .close(let closed):
                guard closed == name else { throw error(line, "</\(name)> is missing") }
                open.removeLast()
                if name == "entry" { try addEntry() }
            }
        }
        func addEntry() throws(Failure) {
            guard let name = key else { throw error(start, "an entry has no key") }
            guard let text = value else { throw error(start, "the entry of \(name) has no value") }
            guard keys.insert(name.exact).inserted else { throw error(start, "the key \(name) appears twice") }
            members.append(.init(key: name, line: start, value: .json(.string(text))))
            (key, value) = (nil, nil)
        }
        guard !members.isEmpty || root == "defaultsMap" && !hasOthers else {
            throw error(1, "this is neither a property list nor Android's XML with an <entry> for each default")
        }
        return members
    }
}

/// The numbers of XML property lists, as Apple's frameworks read them.
private enum PropertyListNumber {
    /// Returns the value of an `<integer>`: decimal or hexadecimal, with a sign and leading zeros or without; `nil` if
    /// it is neither, or out of range.
    static func integer(_ text: String) -> JSONNumber? {
        var (digits, isNegative) = unsigned(text)
        let isHexadecimal = digits.hasPrefix("0x") || digits.hasPrefix("0X")
        if isHexadecimal { digits = digits.dropFirst(2) }
        // `UInt64` would accept another sign.
        guard let first = digits.utf8.first, first != UInt8(ascii: "+"), first != UInt8(ascii: "-"),
            let magnitude = UInt64(digits, radix: isHexadecimal ? 16 : 10)
        else { return nil }
        guard isNegative else { return JSONNumber(magnitude) }
        guard magnitude <= Int64.min.magnitude else { return nil }
        return JSONNumber(Int64(bitPattern: 0 &- magnitude))
    }

    /// Returns a `<real>` in the notation of JSON, with a fraction or exponent, so that it does not become an integer.
    static func real(_ text: String) -> String? {
        let (number, isNegative) = unsigned(text)
        let exponent = number.firstIndex { $0 == "e" || $0 == "E" } ?? number.endIndex
        let parts = number[..<exponent].split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let fraction = parts.count > 1 ? parts[1] : ""
        guard let whole = parts.first, !whole.isEmpty || !fraction.isEmpty,
            whole.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        let digits = whole.drop { $0 == "0" }
        let tail =
            parts.count > 1 || exponent == number.endIndex ? ".\(fraction.isEmpty ? "0" : String(fraction))" : ""
        return (isNegative ? "-" : "") + (digits.isEmpty ? "0" : String(digits)) + tail + number[exponent...]
    }

    /// Removes leading white space and a sign.
    private static func unsigned(_ text: String) -> (digits: Substring, isNegative: Bool) {
        let trimmed = text.drop(while: \.isWhitespace)
        guard let sign = trimmed.first, sign == "-" || sign == "+" else { return (trimmed, false) }
        return (trimmed.dropFirst().drop(while: \.isWhitespace), sign == "-")
    }
}
