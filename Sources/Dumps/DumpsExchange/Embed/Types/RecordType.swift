import RemoteSettingsModel

/// The Swift type of a collection's records.
struct RecordType: Hashable, Sendable {
    /// The type's name, such as `MarketsRecord`.
    let name: String
    let type: ValueType

    /// Derives the type of these records.
    ///
    /// - Parameter schema: the JSON Schema of the collection; `nil` if it has none.
    init(named name: String, records: [JSONValue], schema: JSONValue?) {
        self.name = name
        var observed = ObservedValues()
        for record in records { observed.observe(record) }
        // Even without records, the type needs the members that the server adds to each record.
        if records.isEmpty {
            observed.observe(["id": "", "last_modified": 0])
        }
        type = observed.type(schema, isRecord: true)
    }

    /// Parses a type from generated code.
    ///
    /// - Parameter file: the content of a file that contains the output of ``declaration(collection:)``.
    init?(named name: String, in file: String) {
        guard let type = DeclaredType.read(name, in: file) else { return nil }
        self.name = name
        self.type = type
    }

    /// Returns the Swift declaration, without indentation.
    func declaration(collection: String) -> String {
        guard case .object(let fields) = type else { return "" }
        let lines =
            ["/// A record of `\(collection)`. Records that do not have this form are omitted."]
            + StructDeclaration(
                name: name, conformances: "TypedRecord, Decodable, Identifiable, Hashable", fields: fields
            ).lines
        return lines.map { "\($0)\n" }.joined()
    }
}

/// The declaration of a struct with a property for each member.
private struct StructDeclaration {
    let name: String
    let conformances: String
    let fields: [ValueType.Field]

    var lines: [String] {
        // Strings that Swift considers equal, such as two encodings of é, cannot both be keys.
        var keys: Set<String> = []
        let fields = fields.filter { keys.insert($0.key).inserted }
        var names = NamesInUse(["codingKeys"])
        let properties = fields.map { field in (field, names.unused(SwiftName.of(field.key))) }
        var types = NamesInUse(SwiftName.typesInUse)
        var nested: [String] = []
        var members: [String] = []
        for (field, property) in properties {
            let type = swift(field, &types, &nested)
            members.append("public let \(property): \(type)\(field.isOptional ? "?" : "")")
        }
        let cases = properties.map { field, property in
            "    case \(property) = \(SwiftName.literal(field.key))"
        }
        return ["nonisolated public struct \(name): \(conformances), Sendable {"] + indented(members + nested)
            + (cases.isEmpty
                ? [] : indented(["", "nonisolated private enum CodingKeys: String, CodingKey {"] + cases + ["}"])) + [
                "}"
            ]
    }

    /// Returns the name of a member's type. Appends the declarations of the types that it needs to `nested`.
    private func swift(_ field: ValueType.Field, _ types: inout NamesInUse, _ nested: inout [String]) -> String {
        func name(_ type: ValueType) -> String {
            switch type {
            case .string: return "String"
            case .integer: return "Int64"
            case .number: return "Double"
            case .boolean: return "Bool"
            case .any: return "RemoteSettingsJSON"
            case .attachment: return "RemoteSettingsAttachment"
            case .array(let element): return "[\(name(element))]"
            case .dictionary(let value): return "[String: \(name(value))]"
            case .choice(let texts):
                let own = types.unused(SwiftName.ofType(field.key))
                nested += [""] + ChoiceDeclaration(name: own, texts: texts).lines
                return own
            case .object(let fields):
                let own = types.unused(SwiftName.ofType(field.key))
                nested +=
                    [""]
                    + StructDeclaration(name: own, conformances: "Decodable, Hashable", fields: fields)
                    .lines
                return own
            }
        }
        return name(field.type)
    }
}

/// The declaration of an enumeration with a case for each string in a schema, and one for strings added later.
private struct ChoiceDeclaration {
    let name: String
    let texts: [String]

    var lines: [String] {
        var known: Set<String> = []
        let texts = texts.filter { known.insert($0).inserted }
        var names = NamesInUse(["unknown"])
        let cases = texts.map { (text: $0, name: names.unused(SwiftName.of($0))) }
        return ["nonisolated public enum \(name): Decodable, Hashable, Sendable {"]
            + indented(
                cases.map { "case \($0.name)" } + [
                    "/// A string that was not in the schema when this file was generated.", "case unknown(String)", "",
                    "public init(from decoder: any Decoder) throws {",
                    "    let text = try decoder.singleValueContainer().decode(String.self)", "    switch text {",
                ] + cases.map { "    case \(SwiftName.literal($0.text)): self = .\($0.name)" } + [
                    "    default: self = .unknown(text)", "    }", "}",
                ]) + ["}"]
    }
}

private func indented(_ lines: [String]) -> [String] { lines.map { $0.isEmpty ? "" : "    \($0)" } }
