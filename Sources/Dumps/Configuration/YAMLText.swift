import RemoteSettingsModel

/// What a text in YAML must not have before it is parsed: with it, a few hundred bytes keep the parser busy for ever, or end the
/// process.
///
/// The parser compares the keys of each mapping as whole trees. The checks look at characters, not at their meaning: they know
/// neither quotes nor comments, and err on the side of refusing.
package struct YAMLText {
    private let text: Bytes
    private let file: String
    private let limits: Limits
    /// Whether the same content could be written as JSON, for the remedies.
    private let canBeJSON: Bool

    /// - Throws: ``ConfigurationError`` for an alias, for more than ``mostExplicitKeys``, and for values that nest too deep.
    package static func check(
        _ text: Bytes, file: String, canBeJSON: Bool, limits: Limits = Limits()
    ) throws(ConfigurationError) {
        let text = YAMLText(text: text, file: file, limits: limits, canBeJSON: canBeJSON)
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
                let name = bytes[(index + 1)...].prefix { !Self.endsName($0) }
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

    /// Only such a key can be a list or a mapping of more than 1,024 bytes. Of hundreds, each in the one before, the innermost is
    /// compared once for each of them.
    private func refuseExplicitKeys() throws(ConfigurationError) {
        var (line, count) = (1, 0)
        var isStart = true
        var isMark = false
        for byte in text.array {
            if isMark, byte <= 0x20 {
                count += 1
                guard count <= Self.mostExplicitKeys else {
                    throw error(
                        line, "more than \(Self.mostExplicitKeys) keys are written as \"? key\"",
                        "write them as \"key: value\"" + (canBeJSON ? ", or the file as JSON" : ""))
                }
            }
            isMark = isStart && byte == UInt8(ascii: "?")
            if byte == 0x0A { line += 1 }
            isStart = Self.beginsToken(after: byte)
        }
    }

    /// Whether a token can begin behind this byte.
    private static func beginsToken(after byte: UInt8) -> Bool {
        endsName(byte) || byte == UInt8(ascii: ":") || byte == UInt8(ascii: "-")
    }

    private static func endsName(_ byte: UInt8) -> Bool {
        byte <= 0x20 || [0x2C, 0x5B, 0x5D, 0x7B, 0x7D].contains(byte)
    }

    /// The parser calls itself for each level, and has the stack of a task for it. Brackets inside of texts count too: a text
    /// with hundreds of unclosed brackets in a row belongs into a JSON file.
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
