/// Reads the declarations that `rsdump embed --types` has written, so that new records are checked against the types
/// that the app was built with.
///
/// Only the form that ``RecordType/declaration(collection:)`` writes is read, line by line.
struct DeclaredType {
    private var lines: ArraySlice<String>

    /// The type of this name in a file; `nil` if the file does not declare it.
    static func read(_ name: String, in file: String) -> ValueType? {
        let lines = file.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard let start = lines.firstIndex(where: { $0.contains("struct \(name): EmbeddedRecord") }) else { return nil }
        var reader = DeclaredType(lines: lines[(start + 1)...])
        return reader.body()
    }

    private struct Property {
        let name: String
        let type: String
    }

    private mutating func body() -> ValueType? {
        var properties: [Property] = []
        var types: [String: ValueType] = [:]
        var keys: [String: String] = [:]
        while let line = lines.popFirst() {
            let words = line.split(separator: " ").map(String.init).drop { $0 == "public" || $0 == "private" }
            switch words.first {
            case "}":
                return .object(
                    properties.compactMap { property in
                        let isOptional = property.type.hasSuffix("?")
                        let type = isOptional ? String(property.type.dropLast()) : property.type
                        guard let key = keys[property.name], let read = Self.type(type, types) else { return nil }
                        return ValueType.Field(key: key, type: read, isOptional: isOptional)
                    })
            case "let":
                guard let colon = line.firstIndex(of: ":"), let name = words.dropFirst().first else { return nil }
                properties.append(
                    Property(name: String(name.dropLast()), type: String(line[colon...].dropFirst(2))))
            case "struct":
                guard let name = words.dropFirst().first, let type = body() else { return nil }
                types[String(name.dropLast())] = type
            case "enum":
                guard let name = words.dropFirst().first?.dropLast() else { return nil }
                if name == "CodingKeys" { keys = codingKeys() } else { types[String(name)] = choice() }
            default: continue
            }
        }
        return nil
    }

    private mutating func codingKeys() -> [String: String] {
        var keys: [String: String] = [:]
        while let line = lines.popFirst()?.trimmingSpaces, line != "}" {
            let parts = line.split(separator: " ", maxSplits: 3)
            guard parts.count == 4, let key = SwiftName.text(ofLiteral: parts[3]) else { continue }
            keys[String(parts[1])] = key
        }
        return keys
    }

    /// The texts of an enumeration; its last line is the second brace with the indentation of its cases less four.
    private mutating func choice() -> ValueType {
        var texts: [String] = []
        var depth = 1
        while depth > 0, let line = lines.popFirst()?.trimmingSpaces {
            if line.hasSuffix("{") { depth += 1 }
            if line == "}" { depth -= 1 }
            // `case "text": self = .name`, where the name has no quotation marks.
            if line.hasPrefix("case \""), let end = line.lastIndex(of: "\""),
                let text = SwiftName.text(ofLiteral: line[..<end].dropFirst(5) + "\"")
            {
                texts.append(text)
            }
        }
        return .choice(texts)
    }

    private static func type(_ name: String, _ declared: [String: ValueType]) -> ValueType? {
        switch name {
        case "String": return .string
        case "Int64": return .integer
        case "Double": return .number
        case "Bool": return .boolean
        case "RemoteSettingsJSON": return .any
        case "RemoteSettingsAttachment": return .attachment
        default:
            if name.hasPrefix("[String: "), name.hasSuffix("]") {
                return type(String(name.dropFirst(9).dropLast()), declared).map(ValueType.dictionary)
            }
            if name.hasPrefix("["), name.hasSuffix("]") {
                return type(String(name.dropFirst().dropLast()), declared).map(ValueType.array)
            }
            return declared[name]
        }
    }
}

extension String {
    fileprivate var trimmingSpaces: String { String(drop { $0 == " " }) }
}
