import Dumps
import RemoteSettingsModel
import TargetFilter

/// A condition of a Firebase Remote Config template, translated to a target filter.
///
/// A Firebase condition is a conjunction of terms, without other operators, negation or parentheses around terms. A
/// term is false if its input is missing, so the translation of a negated comparison also checks that the input
/// exists.
package struct FirebaseCondition: Sendable {
    /// The target filter.
    package let filter: String
    /// Members of `env` that the app must set, because a library cannot determine them.
    package let needs: Set<ExactString>

    /// Translates a condition.
    ///
    /// - Throws: `Failure`. Its `entry` is the part that no filter can express, such as `app.audiences`; `nil` for
    ///   any other error.
    package init(parsing text: String) throws(Failure) {
        var parser = ConditionParser(try ConditionLexer.tokens(text))
        var terms: [String] = []
        repeat { terms.append(try parser.term()) } while try parser.hasAnother()
        filter = terms.count == 1 ? terms[0] : terms.map { "(\($0))" }.joined(separator: " && ")
        needs = parser.needs
        do {
            _ = try FilterExpression(parsing: filter)
        } catch {
            throw Failure(problem: "its translation is not a valid filter: \(error)")
        }
    }
}

private enum ConditionToken: Hashable, Sendable {
    /// A path such as `app.version`, or a word.
    case word(String)
    case text(String)
    case number(String)
    /// A method with its dot, such as `.contains` or `.>=`.
    case method(String)
    case symbol(String)

    var shown: String {
        switch self {
        case .word(let text), .number(let text), .method(let text), .symbol(let text): "\"\(text)\""
        case .text(let text): "'\(VisibleText.excerpt(text, limit: 60))'"
        }
    }
}

private enum ConditionLexer {
    static func tokens(_ text: String) throws(Failure) -> [ConditionToken] {
        guard text.utf8.count <= 64 << 10 else { throw refusal("it is longer than 64 KiB") }
        var tokens: [ConditionToken] = []
        var rest = text.unicodeScalars[...]
        while let first = rest.first {
            if first.properties.isWhitespace {
                rest.removeFirst()
            } else if first == "'" || first == "\"" {
                tokens.append(.text(try quoted(&rest)))
            } else if isDigit(first) || (first == "-" && rest.dropFirst().first.map(isDigit) == true) {
                rest.removeFirst()
                let digits = rest.prefix { isDigit($0) || $0 == "." }
                rest = rest.dropFirst(digits.count)
                tokens.append(.number(String(first) + String(digits)))
            } else if isLetter(first) {
                var word = scan(&rest, while: isWord)
                // A dot is part of the path if it precedes a name that is not a method.
                while rest.first == ".", let next = rest.dropFirst().first, isLetter(next) {
                    let name = String(rest.dropFirst().prefix(while: isWord))
                    if methods.contains(name) { break }
                    rest = rest.dropFirst(1 + name.unicodeScalars.count)
                    word += ".\(name)"
                }
                tokens.append(.word(word))
            } else if first == "." {
                rest.removeFirst()
                let name =
                    rest.first.map(isLetter) == true ? scan(&rest, while: isWord) : scan(&rest, while: isOperator)
                guard !name.isEmpty else { throw refusal("a dot is not followed by a method") }
                tokens.append(.method(".\(name)"))
            } else if isOperator(first) {
                tokens.append(.symbol(scan(&rest, while: isOperator)))
            } else if "[](),&|".unicodeScalars.contains(first) {
                let isDouble = first == "&" || first == "|"
                let symbol = isDouble ? scan(&rest) { $0 == first } : String(rest.removeFirst())
                tokens.append(.symbol(symbol))
            } else {
                throw refusal("it has the unknown character \(VisibleText.quote(String(first)))")
            }
            guard tokens.count <= 10_000 else { throw refusal("it has more than 10,000 tokens") }
        }
        return tokens
    }

    private static let methods: Set = [
        "exactlyMatches", "contains", "notContains", "doesNotContain", "matches", "inAtLeastOne", "inAll",
        "notInAtLeastOne", "notInAll",
    ]

    private static func refusal(_ problem: String) -> Failure {
        Failure(problem: problem)
    }

    private static func quoted(_ rest: inout Substring.UnicodeScalarView) throws(Failure) -> String {
        let quote = rest.removeFirst()
        var text = String.UnicodeScalarView()
        while let scalar = rest.popFirst() {
            if scalar == quote { return String(text) }
            if scalar == "\\", let next = rest.first, next == quote || next == "\\" {
                text.append(next)
                rest.removeFirst()
            } else {
                text.append(scalar)
            }
        }
        throw refusal("a string has no closing quote")
    }

    private static func scan(
        _ rest: inout Substring.UnicodeScalarView, while isPart: (Unicode.Scalar) -> Bool
    ) -> String {
        let taken = rest.prefix(while: isPart)
        rest = rest.dropFirst(taken.count)
        return String(taken)
    }

    private static func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }
    private static func isLetter(_ scalar: Unicode.Scalar) -> Bool {
        ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || scalar == "_"
    }
    private static func isWord(_ scalar: Unicode.Scalar) -> Bool { isLetter(scalar) || isDigit(scalar) }
    private static func isOperator(_ scalar: Unicode.Scalar) -> Bool { "<>=!".unicodeScalars.contains(scalar) }
}

private struct ConditionParser {

    private var tokens: ArraySlice<ConditionToken>
    private(set) var needs: Set<ExactString> = []

    init(_ tokens: [ConditionToken]) {
        self.tokens = tokens[...]
    }

    mutating func hasAnother() throws(Failure) -> Bool {
        guard let next = tokens.popFirst() else { return false }
        guard next == .symbol("&&") else { throw unexpected(next, "&& or the end") }
        return true
    }

    mutating func term() throws(Failure) -> String {
        guard let first = tokens.popFirst() else { throw unexpected(nil, "a term") }
        guard case .word(let name) = first else { throw unexpected(first, "a term") }
        switch name {
        case "true", "false": return name
        case "percent": return try percent()
        case "app.version": return try subject("env.version", isVersion: true)
        case "app.build":
            needs.insert("build")
            return try subject("env.build", isVersion: true)
        case "app.id": return try equality("env.appinfo.ID")
        case "app.customSignal": return try subject(try signalName(), isVersion: false)
        case "version": return try versionOfSignal()
        case "app.firstOpenTimestamp": return try time("env.firstOpen", "firstOpen")
        case "dateTime", "device.dateTime": return try time("env.now", "now")
        case "app.firebaseInstallationId":
            needs.insert("installationID")
            return try membership("env.installationID")
        case "device.country": return try membership("env.country")
        case "device.language": return try membership("env.locale")
        case "device.os": return try equality("env.appinfo.OS", Self.operatingSystem)
        case "app.userProperty", "app.audiences", "app.importedSegments", "app.operatingSystemAndVersion",
            "app.browserAndVersion":
            throw Failure(entry: name, problem: "its value is known only to Google's servers")
        default: throw Failure(entry: name, problem: "it has no equivalent in the filter language")
        }
    }

    // MARK: Terms

    private mutating func percent() throws(Failure) -> String {
        var seed: String?
        if tokens.first == .symbol("(") {
            try expect("(")
            seed = try text()
            try expect(")")
        }
        let input = "[env.id, \(Self.literal(seed ?? ""))]"
        func buckets(_ from: Int, _ to: Int) -> String {
            let isWhole = from % 10_000 == 0 && to % 10_000 == 0
            let (unit, total) = isWhole ? (10_000, 100) : (1, 1_000_000)
            return "\(input)|bucketSample(\(from / unit), \((to - from) / unit), \(total))"
        }
        let next = tokens.popFirst()
        switch next {
        case .symbol("<=")?: return buckets(0, try share())
        case .symbol(">")?: return buckets(try share(), 1_000_000)
        case .word("between")?:
            let from = try share()
            let separator = tokens.popFirst()
            guard separator == .word("and") else { throw unexpected(separator, "and") }
            let to = try share()
            guard from <= to else { throw Failure(problem: "the first percentage is larger than the second") }
            return buckets(from, to)
        default: throw unexpected(next, "<=, > or between")
        }
    }

    private mutating func share() throws(Failure) -> Int {
        let next = tokens.popFirst()
        guard case .number(let text)? = next, let number = jsonNumber(text),
            let steps = ParameterCompiler.steps(number)
        else { throw unexpected(next, "a percentage from 0 to 100, in steps of 0.0001") }
        return steps
    }

    private mutating func signalName() throws(Failure) -> String {
        try expect("[")
        let key = try text()
        try expect("]")
        let isName = !key.isEmpty && key.utf8.allSatisfy { $0 == 0x5F || ($0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A) }
        needs.insert(key.exact)
        return isName ? "env.\(key)" : "env[\(Self.literal(key))]"
    }

    private mutating func versionOfSignal() throws(Failure) -> String {
        try expect("(")
        guard tokens.popFirst() == .word("app.customSignal") else {
            throw Failure(entry: "version()", problem: "it is supported only for custom signals")
        }
        let name = try signalName()
        try expect(")")
        let next = tokens.popFirst()
        guard case .symbol(let comparison)? = next, Self.comparisons.contains(comparison) else {
            throw unexpected(next, "a comparison")
        }
        return try compared(name, comparison, try text(), isVersion: true)
    }

    /// Parses methods on lists of strings, and comparisons of versions or numbers.
    private mutating func subject(_ name: String, isVersion: Bool) throws(Failure) -> String {
        let next = tokens.popFirst()
        switch next {
        case .method(let method)?:
            try expect("(")
            let isComparison = ![".exactlyMatches", ".contains", ".notContains", ".doesNotContain", ".matches"]
                .contains(method)
            if isComparison {
                let comparison = String(method.dropFirst())
                guard Self.comparisons.contains(comparison) else {
                    throw Failure(entry: method, problem: "it has no equivalent in the filter language")
                }
                let condition = try compared(name, comparison, try oneOperand(), isVersion: isVersion)
                try expect(")")
                return condition
            }
            let values = try texts()
            try expect(")")
            switch method {
            case ".exactlyMatches": return "\(name) in \(Self.list(values))"
            case ".contains": return values.map { "(\(Self.literal($0)) in \(name))" }.joined(separator: " || ")
            case ".notContains", ".doesNotContain":
                let parts = values.map { "(\(Self.literal($0)) in \(name))" }.joined(separator: " || ")
                return "\(name) != null && !(\(parts))"
            default:
                var parts: [String] = []
                for value in values { parts.append("(\(try Self.match(name, value)) != null)") }
                return parts.joined(separator: " || ")
            }
        case .symbol(let symbol)? where Self.comparisons.contains(symbol):
            return try compared(name, symbol, try operand(), isVersion: isVersion)
        default: throw unexpected(next, "a method or a comparison")
        }
    }

    private mutating func oneOperand() throws(Failure) -> String {
        guard tokens.first == .symbol("[") else { return try operand() }
        try expect("[")
        let value = try operand()
        try expect("]")
        return value
    }

    private mutating func operand() throws(Failure) -> String {
        let next = tokens.popFirst()
        switch next {
        case .text(let text)?, .number(let text)?: return text
        default: throw unexpected(next, "a string or a number")
        }
    }

    private func compared(
        _ name: String, _ comparison: String, _ operand: String, isVersion: Bool
    ) throws(Failure) -> String {
        if isVersion {
            return Self.guarded(name, "\(name)|versionCompare(\(Self.literal(operand))) \(comparison) 0", comparison)
        }
        guard let number = jsonNumber(operand) else {
            throw Failure(
                problem: "'\(VisibleText.excerpt(operand, limit: 60))' is not a number, but is compared as one")
        }
        return Self.guarded(name, "\(name) \(comparison) \(number.text)", comparison)
    }

    /// Parses a test for equality.
    ///
    /// - Parameter value: converts a string in the condition to the value to compare with.
    private mutating func equality(
        _ name: String, _ value: (String) throws(Failure) -> String = { $0 }
    ) throws(Failure) -> String {
        let next = tokens.popFirst()
        guard case .symbol(let symbol)? = next, symbol == "==" || symbol == "!=" else {
            throw unexpected(next, "== or !=")
        }
        return Self.guarded(name, "\(name) \(symbol) \(Self.literal(try value(try text())))", symbol)
    }

    private static func operatingSystem(_ text: String) throws(Failure) -> String {
        let name = ["ios": "iOS", "android": "Android", "web": "web"][text.lowercased()]
        guard let name else { throw Failure(entry: "device.os", problem: "unknown operating system \(text)") }
        return name
    }

    private mutating func membership(_ name: String) throws(Failure) -> String {
        let next = tokens.popFirst()
        guard next == .word("in") else { throw unexpected(next, "in") }
        return "\(name) in \(Self.list(try texts()))"
    }

    /// Parses `>= dateTime('2025-06-01T00:00:00', 'Europe/Oslo')`, or the same without `dateTime`.
    private mutating func time(_ name: String, _ need: String) throws(Failure) -> String {
        var next = tokens.popFirst()
        var comparison = ""
        switch next {
        case .symbol(let symbol)?: comparison = symbol
        case .method(let method)?: comparison = String(method.dropFirst())
        default: break
        }
        guard ["<", "<=", ">", ">="].contains(comparison) else { throw unexpected(next, "<, <=, > or >=") }
        if tokens.first == .word("dateTime") { next = tokens.popFirst() }
        try expect("(")
        let moment = try text()
        var zone = "GMT"
        if tokens.first == .symbol(",") {
            try expect(",")
            zone = try text()
        }
        try expect(")")
        guard let utc = try Self.utc(moment, zone) else {
            throw Failure(problem: "\(moment) in \(zone) is not a valid time")
        }
        needs.insert(need.exact)
        return "\(name) \(comparison) ('\(utc)'|date)"
    }

    // MARK: Literals and patterns

    private static let comparisons = ["<", "<=", "==", "!=", ">=", ">"]

    private func jsonNumber(_ text: String) -> JSONNumber? {
        guard case .number(let number)? = try? JSONValue(parsing: Bytes(utf8: text)) else { return nil }
        return number
    }

    private static func guarded(_ name: String, _ condition: String, _ comparison: String) -> String {
        comparison == "!=" ? "\(name) != null && (\(condition))" : condition
    }

    private static func list(_ values: [String]) -> String {
        "[\(values.map(literal).joined(separator: ", "))]"
    }

    /// Returns a string literal of the filter language.
    private static func literal(_ text: String) -> String {
        var output = "'"
        for scalar in text.unicodeScalars {
            if scalar == "'" || scalar == "\\" { output += "\\" }
            output.unicodeScalars.append(scalar)
        }
        return output + "'"
    }

    /// Translates an RE2 pattern. Only syntax that has the same meaning in RE2 and ECMA-262 is accepted.
    private static func match(_ name: String, _ pattern: String) throws(Failure) -> String {
        var pattern = pattern[...]
        var flags = ""
        if pattern.hasPrefix("(?i)") {
            pattern = pattern.dropFirst(4)
            flags = ", 'i'"
        }
        for part in ["(?i", "(?s", "(?m", "(?U", "(?-", "(?P<", "\\A", "\\z", "\\p", "\\P", "[[:", "\\Q", "\\C"]
        where pattern.contains(part) {
            throw Failure(entry: ".matches", problem: "its pattern has \(part), which only RE2 supports")
        }
        return "(\(name)|regExpMatch(\(literal(String(pattern)))\(flags)))"
    }

    private mutating func text() throws(Failure) -> String {
        let next = tokens.popFirst()
        guard case .text(let text)? = next else { throw unexpected(next, "a string in quotes") }
        return text
    }

    private mutating func texts() throws(Failure) -> [String] {
        try expect("[")
        var values = [try text()]
        while tokens.first == .symbol(",") {
            try expect(",")
            values.append(try text())
        }
        try expect("]")
        return values
    }

    private mutating func expect(_ symbol: String) throws(Failure) {
        let next = tokens.popFirst()
        guard next == .symbol(symbol) else { throw unexpected(next, symbol) }
    }

    private func unexpected(_ token: ConditionToken?, _ expected: String) -> Failure {
        Failure(problem: "expected \(expected), found \(token?.shown ?? "the end")")
    }

    /// Converts a local time in a time zone to RFC 3339 in UTC. Reads the system's time zone file.
    private static func utc(_ text: String, _ zone: String) throws(Failure) -> String? {
        guard text.utf8.count == 19, let wall = Timestamp(rfc3339: "\(text)Z") else { return nil }
        guard let moment = try SystemTimeZone(named: zone)?.moment(of: Int64(wall.seconds)), moment >= 0 else {
            return nil
        }
        return Timestamp(milliseconds: UInt64(moment) * 1000).rfc3339.replacing(".000Z", with: "Z")
    }
}
