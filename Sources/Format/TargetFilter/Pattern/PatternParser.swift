import RemoteSettingsModel

/// The syntax tree of a regular expression. The parser limits its depth.
indirect enum PatternNode {
    case scalar(Unicode.Scalar)
    /// A scalar in the set, or outside it if `isInverted` is true. If case is ignored, an inverted set matches
    /// differently than the complement of the set.
    case set(ScalarSet, isInverted: Bool)
    case lineStart
    case lineEnd
    /// A word boundary: `\b` for `true`, `\B` for `false`.
    case boundary(Bool)
    case group(PatternNode, capture: Int)
    case reference(Int)
    case lookahead(PatternNode, isNegative: Bool)
    case sequence([PatternNode])
    case choice([PatternNode])
    /// A repetition. `captures` are the groups in the repeated part, which are reset at the start of each repetition.
    case repeated(PatternNode, from: Int, to: Int?, isLazy: Bool, captures: Range<Int>)
}

/// Parses ECMA-262 regular expressions. Lookbehind, property classes (`\p`) and octal escapes are errors.
struct PatternParser {
    private let scalars: [Unicode.Scalar]
    private var position = 0
    private var depth = 0
    private let nesting: Int
    /// The position of the pattern in an expression, for errors.
    private let offset: Int
    private let matchesLineEnds: Bool
    private var names: [ExactString: Int] = [:]
    private var references: [Int] = []
    private(set) var groups = 0

    init(_ pattern: [Unicode.Scalar], at offset: Int, nesting: Int, matchesLineEnds: Bool) {
        scalars = pattern
        self.offset = offset
        self.nesting = nesting
        self.matchesLineEnds = matchesLineEnds
    }

    private func refusal(_ problem: String) -> Failure { .invalidPattern(problem: problem, offset: offset) }

    mutating func parse() throws(Failure) -> PatternNode {
        let node = try choice()
        guard position == scalars.count else { throw refusal("unmatched ')'") }
        if let unknown = references.first(where: { $0 > groups }) {
            throw refusal("\\\(unknown) refers to a group that does not exist")
        }
        return node
    }

    private var current: Unicode.Scalar? { position < scalars.count ? scalars[position] : nil }

    private mutating func take(_ text: String) -> Bool {
        let wanted = Array(text.unicodeScalars)
        guard scalars[position...].starts(with: wanted) else { return false }
        position += wanted.count
        return true
    }

    private mutating func choice() throws(Failure) -> PatternNode {
        guard depth < nesting else { throw refusal("it is nested more than \(nesting) levels deep") }
        depth += 1
        defer { depth -= 1 }
        var branches = [try sequence()]
        while take("|") { branches.append(try sequence()) }
        return branches.count == 1 ? branches[0] : .choice(branches)
    }

    private mutating func sequence() throws(Failure) -> PatternNode {
        var nodes: [PatternNode] = []
        while let next = current, next != "|", next != ")" {
            let before = groups
            let node = try atom()
            nodes.append(try quantified(node, captures: before + 1..<groups + 1))
        }
        return nodes.count == 1 ? nodes[0] : .sequence(nodes)
    }

    private mutating func quantified(_ node: PatternNode, captures: Range<Int>) throws(Failure) -> PatternNode {
        let least: Int
        let most: Int?
        if take("*") {
            (least, most) = (0, nil)
        } else if take("+") {
            (least, most) = (1, nil)
        } else if take("?") {
            (least, most) = (0, 1)
        } else if let bounds = try bounds() {
            (least, most) = bounds
        } else {
            return node
        }
        switch node {
        case .lineStart, .lineEnd, .boundary: throw refusal("there is nothing to repeat")
        default: break
        }
        return .repeated(node, from: least, to: most, isLazy: take("?"), captures: captures)
    }

    /// Parses `{n}`, `{n,}` or `{n,m}`. A brace that does not start one of these is an ordinary character.
    private mutating func bounds() throws(Failure) -> (Int, Int?)? {
        let start = position
        guard take("{"), let least = number() else {
            position = start
            return nil
        }
        var most: Int? = least
        if take(",") { most = number() }
        guard take("}") else {
            position = start
            return nil
        }
        if let most, most < least { throw refusal("a repetition's bounds are out of order") }
        return (least, most)
    }

    private mutating func number() -> Int? {
        let start = position
        var value = 0
        while let digit = current, ("0"..."9").contains(digit) {
            value = min(value * 10 + Int(digit.value - 0x30), 1_000_000)
            position += 1
        }
        return position > start ? value : nil
    }

    private mutating func atom() throws(Failure) -> PatternNode {
        guard let next = current else { throw refusal("it is incomplete") }
        position += 1
        switch next {
        case "^": return .lineStart
        case "$": return .lineEnd
        case ".": return .set(matchesLineEnds ? ScalarSet([]) : .lineEnds, isInverted: true)
        case "(": return try group()
        case "[": return try characterClass()
        case "\\": return try escape()
        case "*", "+", "?": throw refusal("there is nothing to repeat before '\(next)'")
        default: return .scalar(next)
        }
    }

    private mutating func group() throws(Failure) -> PatternNode {
        let node: PatternNode
        if take("?:") {
            // Wrap the group in a sequence: a group around a `^` may be repeated, but a bare `^` may not.
            node = .sequence([try choice()])
        } else if take("?=") {
            node = .lookahead(try choice(), isNegative: false)
        } else if take("?!") {
            node = .lookahead(try choice(), isNegative: true)
        } else if take("?<=") || take("?<!") {
            throw refusal("lookbehind is not supported")
        } else {
            groups += 1
            let number = groups
            if take("?<") {
                let name = try name()
                guard names.updateValue(number, forKey: name.exact) == nil else {
                    throw refusal("two groups have the name \(name)")
                }
            } else if current == "?" {
                throw refusal("unknown group syntax after '(?'")
            }
            node = .group(try choice(), capture: number)
        }
        guard take(")") else { throw refusal("unmatched '('") }
        return node
    }

    private mutating func name() throws(Failure) -> String {
        guard let end = scalars[position...].firstIndex(of: ">"), end > position else {
            throw refusal("incomplete group name")
        }
        defer { position = end + 1 }
        return String(String.UnicodeScalarView(scalars[position..<end]))
    }

    private mutating func escape() throws(Failure) -> PatternNode {
        if take("b") { return .boundary(true) }
        if take("B") { return .boundary(false) }
        if take("k<") {
            let name = try name()
            guard let number = names[name] else { throw refusal("no group \(name) precedes \\k") }
            return .reference(number)
        }
        if let digit = current, ("1"..."9").contains(digit), let number = number() {
            references.append(number)
            return .reference(number)
        }
        if let set = classEscape() { return .set(set, isInverted: false) }
        return .scalar(try scalarEscape())
    }

    /// Parses `\d`, `\w`, `\s` and their negations.
    private mutating func classEscape() -> ScalarSet? {
        let set: ScalarSet? =
            switch current {
            case "d": .digits
            case "D": ScalarSet.digits.inverted
            case "w": .words
            case "W": ScalarSet.words.inverted
            case "s": .blanks
            case "S": ScalarSet.blanks.inverted
            default: nil
            }
        if set != nil { position += 1 }
        return set
    }

    private mutating func scalarEscape() throws(Failure) -> Unicode.Scalar {
        guard let next = current else { throw refusal("it ends with a backslash") }
        position += 1
        switch next {
        case "t": return "\t"
        case "n": return "\n"
        case "r": return "\r"
        case "v": return "\u{B}"
        case "f": return "\u{C}"
        case "x": return try scalar(try hexadecimal(2))
        case "u": return try unicodeEscape()
        case "c":
            guard let letter = current, letter.properties.isAlphabetic, letter.isASCII else { break }
            position += 1
            return try scalar(letter.value % 32)
        case "0":
            if let digit = current, ("0"..."9").contains(digit) { break }
            return "\0"
        case "p", "P", "k", "1"..."9": break
        default:
            if ("a"..."z").contains(next) || ("A"..."Z").contains(next) { break }
            return next
        }
        throw refusal("\\\(next) is not supported")
    }

    private mutating func unicodeEscape() throws(Failure) -> Unicode.Scalar {
        if take("{") {
            var value: UInt32 = 0
            let start = position
            while let digit = current?.hexadecimalValue, value <= 0x10FFFF {
                value = value * 16 + digit
                position += 1
            }
            guard position > start, take("}") else { throw refusal("\\u{…} is incomplete") }
            return try scalar(value)
        }
        let first = try hexadecimal(4)
        guard (0xD800...0xDBFF).contains(first), take("\\u") else { return try scalar(first) }
        let second = try hexadecimal(4)
        guard (0xDC00...0xDFFF).contains(second) else { throw refusal("it has an unpaired surrogate") }
        return try scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    }

    private mutating func hexadecimal(_ width: Int) throws(Failure) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<width {
            guard let digit = current?.hexadecimalValue else {
                throw refusal("an escape requires \(width) hexadecimal digits")
            }
            value = value * 16 + digit
            position += 1
        }
        return value
    }

    private func scalar(_ value: UInt32) throws(Failure) -> Unicode.Scalar {
        guard let scalar = Unicode.Scalar(value) else { throw refusal("an escape is not a valid character") }
        return scalar
    }

    private mutating func characterClass() throws(Failure) -> PatternNode {
        let isInverted = take("^")
        var ranges: [ClosedRange<UInt32>] = []
        var sets: [ScalarSet] = []
        while !take("]") {
            let (first, firstSet) = try classMember()
            if let firstSet { sets.append(firstSet) }
            // A `-` before the closing bracket is an ordinary character.
            guard current == "-", position + 1 < scalars.count, scalars[position + 1] != "]" else {
                if let first { ranges.append(first.value...first.value) }
                continue
            }
            position += 1
            let (last, _) = try classMember()
            guard let first, let last else { throw refusal("a class cannot be the end of a range") }
            guard first.value <= last.value else { throw refusal("a range is out of order") }
            ranges.append(first.value...last.value)
        }
        return .set(ScalarSet(ranges).union(sets), isInverted: isInverted)
    }

    private mutating func classMember() throws(Failure) -> (Unicode.Scalar?, ScalarSet?) {
        guard let next = current else { throw refusal("unmatched '['") }
        position += 1
        guard next == "\\" else { return (next, nil) }
        if take("b") { return ("\u{8}", nil) }
        if let set = classEscape() { return (nil, set) }
        return (try scalarEscape(), nil)
    }
}

extension Unicode.Scalar {
    fileprivate var hexadecimalValue: UInt32? {
        switch self {
        case "0"..."9": value - 0x30
        case "a"..."f": value - 0x61 + 10
        case "A"..."F": value - 0x41 + 10
        default: nil
        }
    }
}
