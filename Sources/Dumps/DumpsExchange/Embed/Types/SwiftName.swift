import RemoteSettingsModel

/// Swift names and literals for untrusted strings.
enum SwiftName {
    /// Words that cannot be variable names without backticks (The Swift Programming Language, "Keywords and
    /// Punctuation").
    private static let keywords: Set = [
        "Any", "as", "associatedtype", "break", "case", "catch", "class", "continue", "default", "defer", "deinit",
        "do",
        "else", "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard", "if", "import",
        "in", "inout", "internal", "is", "let", "nil", "operator", "precedencegroup", "private", "protocol",
        "public", "repeat", "rethrows", "return", "static", "struct", "subscript", "super", "switch", "throw",
        "throws", "true", "try", "typealias", "var", "where", "while",
    ]

    /// Names that a nested type must not have, because generated code uses types with these names, or because Swift
    /// does not allow them.
    static let typesInUse: Set<ExactString> = [
        "Any", "Array", "Bool", "CodingKey", "CodingKeys", "Decodable", "Decoder", "Dictionary", "Double",
        "TypedRecord", "Hashable", "ID", "Identifiable", "Int64", "Optional", "Protocol", "RemoteSettingsAttachment",
        "RemoteSettingsJSON", "Self", "Sendable", "String", "Type",
    ]

    /// Names that mean something else after a dot, even in backticks.
    private static let reserved: Set = ["Protocol", "Type", "init", "self"]

    /// Returns a variable name: `search-config-v2` becomes `searchConfigV2`. Only ASCII letters and digits are kept.
    static func of(_ name: String) -> String {
        let joined = camelCase(name)
        if reserved.contains(joined) { return "\(joined)_" }
        if keywords.contains(joined) { return "`\(joined)`" }
        // Every Hashable type has this property.
        if joined == "hashValue" { return "hashValueMember" }
        return joined.utf8.first.map { !isDigit($0) } ?? true ? joined : "_\(joined)"
    }

    /// Returns a type name: `search-config-v2` becomes `SearchConfigV2`.
    static func ofType(_ name: String) -> String {
        let joined = camelCase(name)
        let capital = joined.prefix(1).uppercased() + joined.dropFirst()
        return capital.utf8.first.map { !isDigit($0) } ?? true ? capital : "_\(capital)"
    }

    /// Returns a string literal with printable ASCII only, so that no string can look like another string or like code.
    static func literal(_ text: String) -> String {
        let characters = text.unicodeScalars.map { scalar in
            switch scalar {
            case "\"", "\\": "\\\(scalar)"
            case " "..."~": String(scalar)
            default: "\\u{\(String(scalar.value, radix: 16))}"
            }
        }
        return "\"\(characters.joined())\""
    }

    /// Returns the string of a literal created by ``literal(_:)``; `nil` for anything else.
    static func text(ofLiteral literal: Substring) -> String? {
        guard literal.utf8.count >= 2, literal.hasPrefix("\""), literal.hasSuffix("\"") else { return nil }
        var text = String.UnicodeScalarView()
        var rest = literal.unicodeScalars.dropFirst().dropLast()
        while let scalar = rest.popFirst() {
            guard scalar == "\\" else {
                text.append(scalar)
                continue
            }
            guard let escaped = rest.popFirst() else { return nil }
            guard escaped == "u" else {
                text.append(escaped)
                continue
            }
            let digits = rest.dropFirst().prefix { $0 != "}" }
            guard let value = UInt32(String(Substring(digits)), radix: 16), let named = Unicode.Scalar(value) else {
                return nil
            }
            text.append(named)
            rest = rest.dropFirst(digits.count + 2)
        }
        return String(text)
    }

    private static func camelCase(_ name: String) -> String {
        let words = name.utf8.split { !isLetter($0) && !isDigit($0) }.map { String(decoding: $0, as: UTF8.self) }
        let joined = words.enumerated().map { index, word in
            index == 0 ? word.prefix(1).lowercased() + word.dropFirst() : word.prefix(1).uppercased() + word.dropFirst()
        }.joined()
        return joined.isEmpty ? "member" : joined
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
}

/// The names in a scope of generated code.
struct NamesInUse {
    private var names: Set<ExactString>
    /// For each name that was requested again, the first number that has not been tried.
    private var numbers: [ExactString: Int] = [:]

    init(_ names: Set<ExactString> = []) {
        self.names = names
    }

    /// Returns the name, with a number if it is already in use, and adds the result to the names in use.
    mutating func unused(_ name: String) -> String {
        if names.insert(name.exact).inserted { return name }
        let stem = name.filter { $0 != "`" }
        var number = numbers[stem] ?? 2
        while !names.insert("\(stem)\(number)".exact).inserted { number += 1 }
        numbers[stem] = number + 1
        return "\(stem)\(number)"
    }
}
