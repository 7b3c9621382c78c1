import RemoteSettingsModel

/// Parses an expression by precedence climbing.
///
///     expression = binary [ "?" expression ":" expression | "?:" expression ]
///     binary     = unary { operator unary }
///     unary      = { "!" } operand { "." name | "[" expression "]" | "|" name [ "(" list ")" ] }
///     operand    = number | "-" number | string | "true" | "false" | "null" | name | "." name
///                | "(" expression ")" | "[" list "]" | "{" [ key ":" expression { "," … } ] "}"
///
/// A list may have a trailing comma. ``FilterLimits/nesting`` limits the recursion.
struct FilterParser {
    private struct WaitingOperator {
        let operation: BinaryOperator
        let offset: Int
        let jump: Int?
    }

    private var lexer: FilterLexer
    private var token = FilterToken(kind: .end, offset: 0)
    private var program = FilterProgram()
    private var depth = 0
    /// Whether the innermost element filter refers to the element that it filters (`.x`).
    private var sawRelative = false

    static func parse(_ text: String) throws(Failure) -> FilterProgram {
        let bytes = text.utf8.count
        let limit = FilterLimits.expressionBytes
        guard bytes <= limit else { throw .tooLong(bytes: bytes, limit: limit) }
        var parser = FilterParser(text)
        try parser.advance(operandNext: true)
        try parser.expression()
        guard parser.token.kind == .end else { throw parser.unexpected("an operator or the end") }
        return parser.program
    }

    private init(_ text: String) {
        lexer = FilterLexer(text)
    }

    private mutating func advance(operandNext: Bool) throws(Failure) {
        token = try lexer.next(operandNext: operandNext)
    }

    private func unexpected(_ expected: String) -> Failure {
        .syntax(offset: token.offset, expected: expected, found: token.found)
    }

    private func isAt(_ symbol: String) -> Bool { token.kind == .symbol(symbol) }

    /// Skips a closing bracket. After it, an operator may follow.
    private mutating func close(_ symbol: String, expected: String? = nil) throws(Failure) {
        guard isAt(symbol) else { throw unexpected(expected ?? "an operator or '\(symbol)'") }
        try advance(operandNext: false)
    }

    private mutating func expression() throws(Failure) {
        let limit = FilterLimits.nesting
        guard depth < limit else { throw .tooDeep(offset: token.offset, limit: limit) }
        depth += 1
        defer { depth -= 1 }
        try binary()
        if isAt("?") { try branches() }
    }

    private mutating func branches() throws(Failure) {
        let offset = token.offset
        try advance(operandNext: true)
        let start = program.reserve(at: offset)
        if isAt(":") {
            try advance(operandNext: true)
            try expression()
            program.fill(start, with: .orJump(ifTruthy: true, to: program.count))
            return
        }
        try expression()
        guard isAt(":") else { throw unexpected("an operator or ':'") }
        try advance(operandNext: true)
        let end = program.reserve(at: offset)
        program.fill(start, with: .branch(to: program.count))
        try expression()
        program.fill(end, with: .jump(to: program.count))
    }

    /// Parses operands and the operators between them.
    ///
    /// Operators that wait for their right operands are on a separate stack. Recursion for each precedence level would
    /// use five times as much of the thread's stack.
    private mutating func binary() throws(Failure) {
        var waiting: [WaitingOperator] = []
        try unary()
        while let next = BinaryOperator(token) {
            while let last = waiting.last, last.operation.precedence >= next.precedence {
                finish(last)
                waiting.removeLast()
            }
            // The jump is between the operator's two operands, so reserve its position now.
            let place = next == .and || next == .or ? program.reserve(at: token.offset) : nil
            waiting.append(WaitingOperator(operation: next, offset: token.offset, jump: place))
            try advance(operandNext: true)
            try unary()
        }
        for last in waiting.reversed() { finish(last) }
    }

    private mutating func finish(_ waiting: WaitingOperator) {
        if let place = waiting.jump {
            program.fill(place, with: .orJump(ifTruthy: waiting.operation == .or, to: program.count))
        } else {
            program.append(.binary(waiting.operation), at: waiting.offset)
        }
    }

    private mutating func unary() throws(Failure) {
        let negations = try negations()
        try operand()
        while true {
            if isAt(".") {
                try member()
            } else if isAt("[") {
                try filter()
            } else if isAt("|") {
                try transform()
            } else {
                break
            }
        }
        for offset in negations.reversed() { program.append(.not, at: offset) }
    }

    private mutating func negations() throws(Failure) -> [Int] {
        var offsets: [Int] = []
        while isAt("!") {
            offsets.append(token.offset)
            try advance(operandNext: true)
        }
        return offsets
    }

    /// Parses an operand. Code that does not recurse is in other functions, because a recursive function with fewer
    /// variables uses less stack.
    private mutating func operand() throws(Failure) {
        if isAt("(") {
            try advance(operandNext: true)
            try expression()
            try close(")")
        } else if isAt("[") {
            try array()
        } else if isAt("{") {
            try object()
        } else {
            try simpleOperand()
        }
    }

    private mutating func array() throws(Failure) {
        let offset = token.offset
        let count = try list(closing: "]")
        program.append(.array(count: count), at: offset)
    }

    private mutating func simpleOperand() throws(Failure) {
        let offset = token.offset
        switch token.kind {
        case .number(let value): try push(.number(value), at: offset)
        case .text(let text): try push(.string(text), at: offset)
        case .name("true"): try push(.bool(true), at: offset)
        case .name("false"): try push(.bool(false), at: offset)
        case .name("null"): try push(.null, at: offset)
        case .name(let name) where BinaryOperator(token) == nil:
            program.append(.root(name), at: offset)
            try advance(operandNext: false)
        case .symbol("."):
            try advance(operandNext: false)
            program.append(.relative(try name("a name")), at: offset)
            sawRelative = true
        case .symbol("-"):
            try advance(operandNext: true)
            guard case .number(let value) = token.kind else { throw unexpected("a number after '-'") }
            try push(.number(-value), at: offset)
        default: throw unexpected("an operand")
        }
    }

    private mutating func push(_ value: FilterValue, at offset: Int) throws(Failure) {
        program.append(.push(value), at: offset)
        try advance(operandNext: false)
    }

    private mutating func name(_ expected: String) throws(Failure) -> String {
        guard case .name(let name) = token.kind else { throw unexpected(expected) }
        try advance(operandNext: false)
        return name
    }

    /// Parses the expressions of an array or argument list, including both brackets.
    private mutating func list(closing: String) throws(Failure) -> Int {
        try advance(operandNext: true)
        var count = 0
        while !isAt(closing) {
            try expression()
            count += 1
            guard isAt(",") else { break }
            try advance(operandNext: true)
        }
        try close(closing, expected: "an operator, ',' or '\(closing)'")
        return count
    }

    private mutating func object() throws(Failure) {
        let offset = token.offset
        var keys: [String] = []
        try advance(operandNext: false)
        while !isAt("}") {
            keys.append(try key())
            try expression()
            guard isAt(",") else { break }
            try advance(operandNext: false)
        }
        try close("}", expected: "an operator, ',' or '}'")
        program.append(.object(keys: keys), at: offset)
    }

    /// Parses a key and the colon after it.
    private mutating func key() throws(Failure) -> String {
        let key: String
        switch token.kind {
        case .name(let name): key = name
        case .text(let text): key = text
        default: throw unexpected("a key or '}'")
        }
        try advance(operandNext: false)
        guard isAt(":") else { throw unexpected("':'") }
        try advance(operandNext: true)
        return key
    }

    private mutating func member() throws(Failure) {
        let offset = token.offset
        try advance(operandNext: false)
        program.append(.member(try name("a name after '.'")), at: offset)
    }

    private mutating func filter() throws(Failure) {
        let offset = token.offset
        let outer = sawRelative
        sawRelative = false
        try advance(operandNext: true)
        let start = program.reserve(at: offset)
        try expression()
        try close("]")
        if sawRelative {
            program.append(.keepElement, at: offset)
            program.fill(start, with: .eachElement(end: program.count))
        } else {
            program.append(.subscripting, at: offset)
            program.fill(start, with: .jump(to: start + 1))
        }
        sawRelative = outer
    }

    private mutating func transform() throws(Failure) {
        try advance(operandNext: false)
        let offset = token.offset
        let name = try name("the name of a transform")
        let arguments = isAt("(") ? try list(closing: ")") : 0
        program.append(.transform(name, arguments: arguments), at: offset)
    }
}
