import Dumps
import RemoteSettingsModel

/// A source file in YAML, built line by line. Strings are quoted, so that no YAML parser mistakes them for other types.
package struct SourceText: Sendable {
    private var lines: [String] = []

    package init() {}

    package var count: Int { lines.count }
    var text: String { lines.joined(separator: "\n") + "\n" }

    /// Returns the source file, after checking that `publish` accepts it. Does no I/O.
    ///
    /// - Parameter file: the imported file, for errors.
    /// - Throws: ``Failure`` if `publish` would reject it, for example because a double cannot represent a number.
    package func checked(_ file: String) throws(Failure) -> Bytes {
        let source = Bytes(utf8: text)
        guard let id = try? CollectionID(bucket: "main", name: "imported") else { return source }
        var builder = CollectionBuilder(id: id, root: ".")
        do throws(Failure) {
            builder.add(collection: try SourceReader(file: file).yaml(source), file: file)
        } catch {
            builder.problems.add(error)
        }
        _ = try mapFailure(of: try builder.finish()) { error in
            Failure(
                problems: error.problems.map {
                    Failure(place: file, problem: "publish would reject the result: \($0.problem)", remedy: $0.remedy)
                })
        }
        return source
    }

    package mutating func line(_ level: Int, _ text: String) {
        lines.append(String(repeating: "  ", count: level) + text)
    }

    package mutating func removeLast() { lines.removeLast() }

    package mutating func replaceLast(_ text: String) { lines[lines.count - 1] = text }

    package static func key(_ key: String) -> String {
        let isPlain =
            key.utf8.allSatisfy {
                $0 == 0x5F || $0 == 0x2D || (48...57).contains($0) || (0x61...0x7A).contains($0 | 0x20)
            }
            && key.utf8.first.map { (0x61...0x7A).contains($0 | 0x20) } ?? false
        guard isPlain, case .string? = PlainScalar.content(key) else { return quoted(key) }
        return key
    }

    package static func value(_ value: JSONValue) -> String {
        switch value {
        case .null: "null"
        case .bool(let bool): "\(bool)"
        case .number(let number): number.text
        case .string(let text): quoted(text)
        case .array(let elements): "[\(elements.map(self.value).joined(separator: ", "))]"
        case .object(let members):
            "{\(members.map { "\(quoted($0.key)): \(self.value($0.value))" }.joined(separator: ", "))}"
        }
    }

    /// Returns a string in double quotes. Characters that YAML 1.1 (section 4.1) does not allow are escaped.
    package static func quoted(_ text: String) -> String {
        var output = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": output += "\\\(scalar)"
            case "\n": output += "\\n"
            case "\t": output += "\\t"
            case "\u{20}"..."\u{7E}", "\u{A0}"..."\u{2027}", "\u{202F}"..."\u{D7FF}", "\u{E000}"..."\u{FEFE}",
                "\u{FF00}"..."\u{FFFD}", "\u{10000}"..."\u{10FFFF}":
                output.unicodeScalars.append(scalar)
            default:
                let hex = String(scalar.value, radix: 16)
                output += "\\u" + String(repeating: "0", count: max(0, 4 - hex.utf8.count)) + hex
            }
        }
        return output + "\""
    }
}
