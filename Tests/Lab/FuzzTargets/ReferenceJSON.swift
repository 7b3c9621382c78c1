#if Lab
#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A second reader of JSON and writer of its canonical form, made for comparison: a tree of scalars instead of one pass
/// over bytes, and C's conversions of numbers. It shares no code with the package.
indirect enum ReferenceJSON {
    case literal(String)
    /// The number's text.
    case number([Unicode.Scalar])
    case string([Unicode.Scalar])
    case array([ReferenceJSON])
    case object([(key: [Unicode.Scalar], value: ReferenceJSON)])

    struct Refusal: Error {}

    /// - Throws: ``Refusal`` for anything but one JSON text (RFC 8259) without duplicate keys and lone surrogates, with
    ///   at most `depth` arrays and objects inside each other.
    init(_ bytes: [UInt8], depth: Int) throws(Refusal) {
        let text = String(decoding: bytes, as: UTF8.self)
        // What is no UTF-8 was replaced.
        guard text.utf8.elementsEqual(bytes) else { throw Refusal() }
        var parser = Parser(scalars: Array(text.unicodeScalars), depthLimit: depth)
        self = try parser.value(depth: 0)
        parser.blanks()
        guard parser.at == parser.scalars.count else { throw Refusal() }
    }

    private struct Parser {
        let scalars: [Unicode.Scalar]
        let depthLimit: Int
        var at = 0

        var next: Unicode.Scalar? { at < scalars.count ? scalars[at] : nil }

        mutating func blanks() { while let next, " \t\n\r".unicodeScalars.contains(next) { at += 1 } }

        mutating func take(_ text: String) -> Bool {
            let wanted = Array(text.unicodeScalars)
            guard scalars[at...].starts(with: wanted) else { return false }
            at += wanted.count
            return true
        }

        mutating func value(depth: Int) throws(Refusal) -> ReferenceJSON {
            blanks()
            for word in ["true", "false", "null"] where take(word) { return .literal(word) }
            if next == "\"" { return .string(try string()) }
            if take("[") {
                guard depth < depthLimit else { throw Refusal() }
                var elements: [ReferenceJSON] = []
                blanks()
                if take("]") { return .array([]) }
                repeat {
                    elements.append(try value(depth: depth + 1))
                    blanks()
                } while take(",")
                guard take("]") else { throw Refusal() }
                return .array(elements)
            }
            if take("{") {
                guard depth < depthLimit else { throw Refusal() }
                var members: [(key: [Unicode.Scalar], value: ReferenceJSON)] = []
                var keys: Set<[Unicode.Scalar]> = []
                blanks()
                if take("}") { return .object([]) }
                repeat {
                    blanks()
                    let key = try string()
                    blanks()
                    guard take(":") else { throw Refusal() }
                    let value = try value(depth: depth + 1)
                    guard keys.insert(key).inserted else { throw Refusal() }
                    members.append((key, value))
                    blanks()
                } while take(",")
                guard take("}") else { throw Refusal() }
                return .object(members)
            }
            return .number(try number())
        }

        mutating func digits() -> Int {
            let start = at
            while let next, ("0"..."9").contains(next) { at += 1 }
            return at - start
        }

        mutating func number() throws(Refusal) -> [Unicode.Scalar] {
            let start = at
            _ = take("-")
            let isZero = next == "0"
            let whole = digits()
            guard whole > 0, !isZero || whole == 1 else { throw Refusal() }
            if take(".") { guard digits() > 0 else { throw Refusal() } }
            if take("e") || take("E") {
                if !take("+") { _ = take("-") }
                guard digits() > 0 else { throw Refusal() }
            }
            return Array(scalars[start..<at])
        }

        mutating func string() throws(Refusal) -> [Unicode.Scalar] {
            guard take("\"") else { throw Refusal() }
            var units: [UInt16] = []
            while let scalar = next {
                at += 1
                if scalar == "\"" {
                    var decoder = UTF16()
                    var iterator = units.makeIterator()
                    var text: [Unicode.Scalar] = []
                    while true {
                        switch decoder.decode(&iterator) {
                        case .scalarValue(let scalar): text.append(scalar)
                        case .emptyInput: return text
                        case .error: throw Refusal()
                        }
                    }
                }
                guard scalar.value >= 0x20 else { throw Refusal() }
                guard scalar == "\\" else {
                    units.append(contentsOf: UTF16.encode(scalar).map(Array.init) ?? [])
                    continue
                }
                guard let escape = next else { throw Refusal() }
                at += 1
                switch escape {
                case "\"", "\\", "/": units.append(UInt16(escape.value))
                case "b": units.append(8)
                case "f": units.append(12)
                case "n": units.append(10)
                case "r": units.append(13)
                case "t": units.append(9)
                case "u":
                    guard at + 4 <= scalars.count else { throw Refusal() }
                    let hex = scalars[at..<at + 4]
                    guard hex.allSatisfy({ $0.properties.isASCIIHexDigit }) else { throw Refusal() }
                    at += 4
                    units.append(UInt16(String(String.UnicodeScalarView(hex)), radix: 16) ?? 0)
                default: throw Refusal()
                }
            }
            throw Refusal()
        }
    }
}

extension ReferenceJSON {
    /// The canonical form; `nil` if a number in it has none.
    var canonical: String? {
        switch self {
        case .literal(let word): word
        case .number(let text): Self.canonical(String(String.UnicodeScalarView(text)))
        case .string(let text): Self.quoted(text)
        case .array(let elements): Self.joined(elements.map(\.canonical)).map { "[\($0)]" }
        case .object(let members):
            Self.joined(
                members.sorted { $0.key.lexicographicallyPrecedes($1.key) }
                    .map { key, value in value.canonical.map { "\(Self.quoted(key)):\($0)" } }
            ).map { "{\($0)}" }
        }
    }

    private static func joined(_ parts: [String?]) -> String? {
        let whole = parts.compactMap(\.self)
        return whole.count == parts.count ? whole.joined(separator: ",") : nil
    }

    private static func quoted(_ text: [Unicode.Scalar]) -> String {
        var out = "\""
        for scalar in text {
            switch scalar {
            case "\"": out += "\\\""
            case "\\": out += "\\\\"
            case "\u{8}": out += "\\b"
            case "\u{c}": out += "\\f"
            case "\n": out += "\\n"
            case "\r": out += "\\r"
            case "\t": out += "\\t"
            case " "..."~": out.unicodeScalars.append(scalar)
            default:
                for unit in String(scalar).utf16 {
                    let hex = String(unit, radix: 16)
                    out += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
                }
            }
        }
        return out + "\""
    }

    private static func canonical(_ text: String) -> String? {
        let isNegative = text.hasPrefix("-")
        if !text.contains(where: { ".eE".contains($0) }) {
            let digits = isNegative ? String(text.dropFirst()) : text
            let most = isNegative ? "9223372036854775808" : "18446744073709551615"
            guard digits.count < most.count || (digits.count == most.count && digits <= most) else { return nil }
            return digits == "0" ? "0" : text
        }
        let value = unsafe strtod(text, nil)
        guard value.isFinite else { return nil }
        let sign = isNegative ? "-" : ""
        if value == 0 { return sign + "0E0" }
        return sign + shortest(value.magnitude)
    }

    /// The fewest digits that read as `value`, by trying one more at a time.
    private static func shortest(_ value: Double) -> String {
        for digits in 1...17 {
            let printed = printed(value, fractionDigits: digits - 1)
            let parts = printed.split(separator: "e")
            let exponent = Int(parts[1]) ?? 0
            let number = UInt64(parts[0].filter { $0 != "." }) ?? 0
            // Below a power of two, doubles are denser than above: a neighbour of the nearest decimal may fit where
            // that one does not.
            for candidate in [number, number + 1, number &- 1] where candidate > 0 {
                let text = String(candidate)
                let scale = exponent - (digits - 1)
                guard unsafe strtod("\(text)e\(scale)", nil) == value else { continue }
                let stripped = String(text.reversed().drop { $0 == "0" }.reversed())
                let rest = stripped.dropFirst()
                return "\(stripped.prefix(1))\(rest.isEmpty ? "" : ".")\(rest)E\(scale + text.count - 1)"
            }
        }
        return "?"
    }

    private static func printed(_ value: Double, fractionDigits: Int) -> String {
        var buffer = [CChar](repeating: 0, count: 64)
        let count = unsafe withVaList([Int32(fractionDigits), value]) { arguments in
            unsafe buffer.withUnsafeMutableBufferPointer { buffer in
                unsafe vsnprintf(buffer.baseAddress, buffer.count, "%.*e", arguments)
            }
        }
        return String(decoding: buffer.prefix(Int(count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

extension ReferenceJSON {
    subscript(key: String) -> ReferenceJSON? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.key == Array(key.unicodeScalars) }?.value
    }

    var text: String? {
        if case .string(let scalars) = self { String(String.UnicodeScalarView(scalars)) } else { nil }
    }

    /// An integer in 0…2^64-1, written as one.
    var unsigned: UInt64? {
        guard case .number(let scalars) = self else { return nil }
        let text = String(String.UnicodeScalarView(scalars))
        return text == "-0" ? 0 : UInt64(text)
    }
}
#endif
