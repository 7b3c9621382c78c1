import RemoteSettingsModel
import TargetFilter

/// The formats that are checked. All other known ones are treated as annotations, as draft 7 allows (section 7.2).
enum SchemaFormat: String, CaseIterable {
    case date
    case dateTime = "date-time"
    case uri
    case uriReference = "uri-reference"
    case email
    case regex

    private static let time = try? FilterExpression(parsing: "(text|date) <= (text|date)")

    /// The formats that are accepted but not checked: the rest of draft 7, and those of Kinto's editor.
    private static let unchecked: Set = [
        "time", "idn-email", "hostname", "idn-hostname", "ipv4", "ipv6", "iri", "iri-reference", "uri-template",
        "json-pointer", "relative-json-pointer", "data-url", "color", "textarea", "url",
    ]

    /// Creates a format from its name.
    ///
    /// - Returns: `nil` for a format that is not checked.
    init?(_ name: String, at path: [String]) throws(Failure) {
        if let format = SchemaFormat(rawValue: name) {
            self = format
        } else if Self.unchecked.contains(name) {
            return nil
        } else {
            let known = (Self.allCases.map(\.rawValue) + Self.unchecked.sorted()).joined(separator: ", ")
            throw Failure.schema(
                path: path, problem: "unknown format \(VisibleText.quote(name))", remedy: "write one of \(known)")
        }
    }

    /// The cost of a check in steps, in addition to the length of the string.
    var steps: Int { self == .regex ? FilterLimits.patternInstructions : 100 }

    func has(_ text: String) -> Bool {
        switch self {
        case .date: return text.utf8.count == 10 && Self.isTime(text)
        case .dateTime:
            // Unlike in filters, a time zone is required, and lowercase letters and leap seconds are allowed (RFC 3339,
            // section 5.6).
            guard (20...100).contains(text.utf8.count) else { return false }
            let upper = text.uppercased().replacing(":60Z", with: ":59Z")
            let zone = upper.utf8.suffix(6)
            let hasZone = zone.last == UInt8(ascii: "Z") || zone.first.map { "+-".utf8.contains($0) } ?? false
            return hasZone && Self.isTime(upper)
        case .uri:
            // Requires a scheme and a colon (RFC 3986, section 3.1), and only characters that are allowed in a URI.
            guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), Self.isReference(text) else { return false }
            let scheme = text.utf8[..<colon]
            let isLetter = scheme.first.map { ($0 | 0x20) &- 0x61 < 26 } ?? false
            return isLetter
                && scheme.allSatisfy { ($0 | 0x20) &- 0x61 < 26 || $0 &- 0x30 < 10 || "+-.".utf8.contains($0) }
        case .uriReference: return Self.isReference(text)
        case .email:
            let parts = text.split(separator: "@", omittingEmptySubsequences: false)
            return parts.count == 2 && parts.allSatisfy { !$0.isEmpty } && Self.isReference(text)
        case .regex: return (try? TextPattern(text)) != nil
        }
    }

    private static func isTime(_ text: String) -> Bool {
        (try? time?.evaluate(in: FilterContext(root: ["text": .string(text)]))) == .bool(true)
    }

    private static func isReference(_ text: String) -> Bool {
        text.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"\"<>\\^`{|}".utf8.contains($0) }
    }
}
