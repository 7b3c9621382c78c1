import RemoteSettingsModel

/// A token of the language, and its byte offset in the expression.
struct FilterToken: Equatable {
    enum Kind: Equatable {
        case number(Double)
        case text(String)
        /// A name, or one of the keywords `true`, `false`, `null`, `in`, `intersect`.
        case name(String)
        /// An operator or a bracket.
        case symbol(String)
        case end
    }

    let kind: Kind
    let offset: Int

    /// The token's description in an error.
    var found: String {
        switch kind {
        case .number(let value): "the number \(NumberText.text(value))"
        case .text: "a string"
        case .name(let name): "'\(VisibleText.excerpt(name, limit: 40))'"
        case .symbol(let symbol): "'\(symbol)'"
        case .end: "the end"
        }
    }
}

/// Splits an expression into tokens, one at a time.
///
/// White space is the same as `\s` in a JavaScript regular expression. A `#` outside a string starts a comment that
/// continues to the end of the line.
struct FilterLexer {
    private let bytes: [UInt8]
    private var position = 0

    init(_ text: String) {
        bytes = Array(text.utf8)
    }

    private func byte(_ index: Int) -> UInt8 { index < bytes.count ? bytes[index] : 0 }

    /// Reads the next token.
    ///
    /// - Parameter operandNext: whether the grammar expects an operand here, so that `.5` is a number.
    mutating func next(operandNext: Bool) throws(Failure) -> FilterToken {
        skipBlanks()
        guard position < bytes.count else { return FilterToken(kind: .end, offset: position) }
        let first = bytes[position]
        if Self.isDigit(first) || (operandNext && first == UInt8(ascii: ".") && Self.isDigit(byte(position + 1))) {
            return try number()
        }
        if Self.isNameStart(first) { return name() }
        if first == UInt8(ascii: "\"") || first == UInt8(ascii: "'") { return try text(closing: first) }
        return try symbol()
    }

    private mutating func skipBlanks() {
        while position < bytes.count {
            let width = blankWidth()
            if width > 0 {
                position += width
            } else if bytes[position] == UInt8(ascii: "#") {
                while position < bytes.count, bytes[position] != 0x0A, bytes[position] != 0x0D { position += 1 }
            } else {
                return
            }
        }
    }

    /// Returns the width of the white space at this position in bytes; 0 if there is none.
    private func blankWidth() -> Int {
        switch bytes[position] {
        case 0x20, 0x09...0x0D: 1
        case 0xC2: byte(position + 1) == 0xA0 ? 2 : 0  // U+00A0
        case 0xE1: byte(position + 1) == 0x9A && byte(position + 2) == 0x80 ? 3 : 0  // U+1680
        case 0xE2:
            switch (byte(position + 1), byte(position + 2)) {
            case (0x80, 0x80...0x8A), (0x80, 0xA8), (0x80, 0xA9), (0x80, 0xAF), (0x81, 0x9F): 3  // U+2000…U+205F
            default: 0
            }
        case 0xE3: byte(position + 1) == 0x80 && byte(position + 2) == 0x80 ? 3 : 0  // U+3000
        case 0xEF: byte(position + 1) == 0xBB && byte(position + 2) == 0xBF ? 3 : 0  // U+FEFF
        default: 0
        }
    }

    private mutating func number() throws(Failure) -> FilterToken {
        let start = position
        while Self.isDigit(byte(position)) { position += 1 }
        if byte(position) == UInt8(ascii: "."), Self.isDigit(byte(position + 1)) {
            position += 1
            while Self.isDigit(byte(position)) { position += 1 }
        }
        let digits = String(decoding: bytes[start..<position], as: UTF8.self)
        if Self.isNameStart(byte(position)) {
            throw .syntax(
                offset: position, expected: "the end of the number \(VisibleText.excerpt(digits, limit: 40))",
                found: describe())
        }
        // The standard library does not accept a number that starts with a decimal point.
        guard let value = Double(digits.hasPrefix(".") ? "0" + digits : digits) else {
            throw .syntax(offset: start, expected: "a number", found: VisibleText.excerpt(digits, limit: 40))
        }
        return FilterToken(kind: .number(value), offset: start)
    }

    private mutating func name() -> FilterToken {
        let start = position
        while Self.isNameStart(byte(position)) || Self.isDigit(byte(position)) { position += 1 }
        return FilterToken(kind: .name(String(decoding: bytes[start..<position], as: UTF8.self)), offset: start)
    }

    /// Reads a string.
    ///
    /// A backslash escapes only the closing quote and itself. Elsewhere it is an ordinary character, so regular
    /// expressions do not need doubled backslashes.
    private mutating func text(closing: UInt8) throws(Failure) -> FilterToken {
        let start = position
        var content: [UInt8] = []
        position += 1
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if byte == closing {
                return FilterToken(kind: .text(String(decoding: content, as: UTF8.self)), offset: start)
            }
            if byte == UInt8(ascii: "\\"), position < bytes.count,
                bytes[position] == closing || bytes[position] == UInt8(ascii: "\\")
            {
                content.append(bytes[position])
                position += 1
            } else {
                content.append(byte)
            }
        }
        throw .syntax(offset: start, expected: "a closing \(Character(UnicodeScalar(closing)))", found: "the end")
    }

    private mutating func symbol() throws(Failure) -> FilterToken {
        let start = position
        let pair = String(decoding: bytes[start..<min(start + 2, bytes.count)], as: UTF8.self)
        if ["&&", "||", "==", "!=", ">=", "<=", "//"].contains(pair) {
            position += 2
            return FilterToken(kind: .symbol(pair), offset: start)
        }
        guard ".[]|{}:,()?+-*/%^<>!".utf8.contains(bytes[start]) else {
            throw .syntax(offset: start, expected: "an operand or an operator", found: describe())
        }
        position += 1
        return FilterToken(kind: .symbol(String(UnicodeScalar(bytes[start]))), offset: start)
    }

    /// Describes the character at this position, for errors.
    private func describe() -> String {
        let rest = String(decoding: bytes[position..<min(position + 8, bytes.count)], as: UTF8.self)
        return rest.unicodeScalars.first.map { $0.escaped(asASCII: true) }.map { "'\($0)'" } ?? "the end"
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

    private static func isNameStart(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- UInt8(ascii: "a") < 26 || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$")
    }
}
