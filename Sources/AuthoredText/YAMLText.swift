import RemoteSettingsModel

/// What a text in YAML must not have before it is parsed: with it, a few hundred bytes keep the parser busy for ever,
/// or end the process.
///
/// The parser compares the keys of each mapping as whole trees. The checks look at characters, not at their meaning:
/// they know neither quotes nor comments, and err on the side of refusing.
package struct YAMLText {
    private let text: Bytes
    private let file: String
    private let limits: Limits
    /// Whether the same content could be written as JSON, for the remedies.
    private let canBeJSON: Bool

    /// - Throws: ``ConfigurationError`` for an alias, for more than ``mostExplicitKeys``, and for values that nest too
    ///   deep.
    package static func check(
        _ text: Bytes, file: String, canBeJSON: Bool, limits: Limits = Limits()
    ) throws(ConfigurationError) {
        // The parser passes over a byte order mark: what is behind it is at the beginning of a line.
        let hasMark = text.count >= 3 && text[0..<3].array == [0xEF, 0xBB, 0xBF]
        let text = YAMLText(
            text: hasMark ? text[3..<text.count] : text, file: file, limits: limits, canBeJSON: canBeJSON)
        try text.refuseAliases()
        try text.refuseExplicitKeys()
        try text.refuseDepth()
    }

    private func error(_ line: Int, _ problem: String, _ remedy: String) -> ConfigurationError {
        ConfigurationError(file: file, line: line, problem: problem, remedy: remedy)
    }

    /// An alias can stand for a tree of any size. So a text with an anchor and an alias of the same name is refused.
    private func refuseAliases() throws(ConfigurationError) {
        var line = 1
        var isStart = true
        var anchors: Set<ArraySlice<UInt8>> = []
        var aliases: [ArraySlice<UInt8>: Int] = [:]
        let bytes = text.array
        guard bytes.contains(UInt8(ascii: "&")), bytes.contains(UInt8(ascii: "*")) else { return }
        for (index, byte) in bytes.enumerated() {
            if isStart, byte == UInt8(ascii: "&") || byte == UInt8(ascii: "*") {
                let name = bytes[(index + 1)...].prefix(while: Self.isInName)
                if byte == UInt8(ascii: "&") {
                    anchors.insert(name)
                } else if aliases[name] == nil {
                    aliases[name] = line
                }
            }
            if byte == 0x0A { line += 1 }
            isStart = Self.beginsToken(after: byte)
        }
        if let first = aliases.filter({ !$0.key.isEmpty && anchors.contains($0.key) }).values.min() {
            throw error(
                first, "anchors and aliases (&name, *name) are not supported",
                "write the value out" + (canBeJSON ? "; or put a text in which both occur into a JSON file" : ""))
        }
    }

    /// The most keys that are written behind a question mark.
    private static let mostExplicitKeys = 8

    /// Only such a key can be a list or a mapping of more than 1,024 bytes. Of hundreds, each in the one before, the
    /// innermost is compared once for each of them. Outside of brackets, whose depth is limited, such a key can only be
    /// at the beginning of a line, behind nothing but other marks.
    private func refuseExplicitKeys() throws(ConfigurationError) {
        var (line, count, index) = (1, 0, 0)
        var hasOnlyMarks = true
        let bytes = text.array
        while index < bytes.count {
            let byte = bytes[index]
            if byte == 0x0A { line += 1 }
            let end = Self.lineEnd(bytes, index)
            if end > 0 {
                hasOnlyMarks = true
            } else if hasOnlyMarks, byte > 0x20 {
                let next = index + 1
                let isAlone = next == bytes.count || bytes[next] <= 0x20 || Self.lineEnd(bytes, next) > 0
                hasOnlyMarks = isAlone && [0x2D, 0x3A, 0x3F].contains(byte)  // - : ?
                if hasOnlyMarks, byte == UInt8(ascii: "?") { count += 1 }
            }
            guard count <= Self.mostExplicitKeys else {
                throw error(
                    line, "more than \(Self.mostExplicitKeys) keys are written as \"? key\"",
                    "write them as \"key: value\"" + (canBeJSON ? ", or the file as JSON" : ""))
            }
            index += max(1, end)
        }
    }

    /// The number of bytes of the line's end at `index`, as YAML 1.1 has it: CR, LF, U+0085, U+2028 or U+2029; 0 if
    /// there is none.
    private static func lineEnd(_ bytes: [UInt8], _ index: Int) -> Int {
        switch bytes[index] {
        case 0x0A, 0x0D: 1
        case 0xC2: bytes[index...].starts(with: [0xC2, 0x85]) ? 2 : 0
        case 0xE2: [[0xE2, 0x80, 0xA8], [0xE2, 0x80, 0xA9]].contains(Array(bytes[index...].prefix(3))) ? 3 : 0
        default: 0
        }
    }

    /// Whether a token can begin behind this byte: white space, a bracket, a comma, `:`, `-`, or the last byte of
    /// U+0085, U+2028 and U+2029, which end lines in YAML 1.1.
    private static func beginsToken(after byte: UInt8) -> Bool {
        byte <= 0x20 || [0x2C, 0x2D, 0x3A, 0x5B, 0x5D, 0x7B, 0x7D, 0x85, 0xA8, 0xA9].contains(byte)
    }

    /// Whether libyaml takes the byte for a part of an anchor's name.
    private static func isInName(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F: true
        default: false
        }
    }

    /// The parser calls itself for each level, and has the stack of a task for it. Brackets inside of texts count too:
    /// a text with hundreds of unclosed brackets in a row belongs into a JSON file.
    private func refuseDepth() throws(ConfigurationError) {
        var (line, open, dashes) = (1, 0, 0)
        for byte in text.array {
            switch byte {
            case UInt8(ascii: "["), UInt8(ascii: "{"): open += 1
            case UInt8(ascii: "]"), UInt8(ascii: "}"): open = max(0, open - 1)
            case UInt8(ascii: "-"), UInt8(ascii: "?"), UInt8(ascii: ":"): dashes += 1
            case 0x0A: (line, dashes) = (line + 1, 0)
            default: break
            }
            // Nested by indentation, each level has a line with at least as many spaces; that is bounded by libyaml.
            guard open <= limits.jsonDepth, dashes <= 4096 else {
                throw error(
                    line, "values nest deeper than \(limits.jsonDepth) levels",
                    "flatten them" + (canBeJSON ? ", or write JSON" : ""))
            }
        }
    }
}
