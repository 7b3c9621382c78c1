import RemoteSettingsModel
import TargetFilter

/// A compiler of a schema and its subschemas. Each is compiled once, so that a `$ref` may be recursive.
struct SchemaReader {
    /// The maximum number of subschemas in a schema, including the schema itself.
    private static let most = 10_000

    private let document: JSONValue
    private(set) var parts: [SchemaPart] = []
    private var numbers: [[ExactString]: Int] = [:]
    /// The schemas that have a position in ``parts`` but are not compiled yet.
    private var waiting: [(number: Int, path: [String], schema: JSONValue)] = []

    init(_ document: JSONValue) {
        self.document = document
    }

    mutating func read() throws(Failure) {
        _ = try number(of: document, at: [])
        // Use a loop instead of recursion, because schemas can be nested as deeply as documents.
        while let next = waiting.popLast() { parts[next.number] = try part(next.schema, at: next.path) }
    }

    private mutating func number(of schema: JSONValue, at path: [String]) throws(Failure) -> Int {
        let place = path.map(\.exact)
        if let known = numbers[place] { return known }
        guard parts.count < Self.most else {
            throw Failure.schema(
                path: path, problem: "there are more than \(Self.most) subschemas", remedy: "simplify it")
        }
        let number = parts.count
        parts.append(SchemaPart())
        numbers[place] = number
        waiting.append((number, path, schema))
        return number
    }

    private mutating func part(_ schema: JSONValue, at path: [String]) throws(Failure) -> SchemaPart {
        var part = SchemaPart()
        if let isAny = schema.bool {
            part.isNever = !isAny
            return part
        }
        guard case .object(let members) = schema else {
            throw Failure.schema(
                path: path, problem: "a schema cannot be \(schema.kind)", remedy: "write a mapping of keywords")
        }
        for member in members { try read(member, schema, into: &part, at: path + [member.key]) }
        return part
    }

    private mutating func read(
        _ member: JSONValue.Member, _ schema: JSONValue, into part: inout SchemaPart, at path: [String]
    ) throws(Failure) {
        let value = member.value
        switch member.key {
        case "$ref": part.reference = try reference(value, path)
        case "type": part.types = try types(value, path)
        case "enum":
            guard let values = value.array, !values.isEmpty else { throw invalid(value, path, "a list of values") }
            part.allowed = SchemaValues(values)
        case "const": part.allowed = SchemaValues([value])
        case "properties":
            for property in try mapping(value, path) {
                part.properties[property.key] = try number(of: property.value, at: path + [property.key])
            }
        case "patternProperties":
            for property in try mapping(value, path) {
                let inner = path + [property.key]
                let pattern = try pattern(property.key, inner)
                part.patternProperties.append((pattern, try number(of: property.value, at: inner)))
            }
        case "additionalProperties": part.otherProperties = try number(of: value, at: path)
        case "propertyNames": part.propertyNames = try number(of: value, at: path)
        case "required": part.required = try texts(value, path)
        case "dependencies":
            for dependency in try mapping(value, path) {
                let inner = path + [dependency.key]
                let isList = dependency.value.array != nil
                part.dependencies.append(
                    (
                        dependency.key, isList ? try texts(dependency.value, inner) : [],
                        isList ? nil : try number(of: dependency.value, at: inner)
                    ))
            }
        case "minProperties": part.propertyCount.least = try count(value, path)
        case "maxProperties": part.propertyCount.most = try count(value, path)
        case "items":
            if let list = value.array {
                for (index, item) in list.enumerated() {
                    part.firstItems.append(try number(of: item, at: path + ["\(index)"]))
                }
            } else {
                part.items = try number(of: value, at: path)
            }
        case "additionalItems":
            let otherItems = try number(of: value, at: path)
            // `additionalItems` has no effect unless `items` is a list (JSON Schema Validation, section 6.4.2).
            if schema["items"]?.array != nil { part.otherItems = otherItems }
        case "contains": part.contained = try number(of: value, at: path)
        case "minItems": part.itemCount.least = try count(value, path)
        case "maxItems": part.itemCount.most = try count(value, path)
        case "uniqueItems":
            guard let isUnique = value.bool else { throw invalid(value, path, "true or false") }
            part.hasUniqueItems = isUnique
        case "minLength": part.length.least = try count(value, path)
        case "maxLength": part.length.most = try count(value, path)
        case "pattern": part.pattern = try pattern(text(value, path), path)
        case "format": part.format = try SchemaFormat(text(value, path), at: path)
        case "minimum": part.minimum = try bound(value, path)
        case "maximum": part.maximum = try bound(value, path)
        case "exclusiveMinimum": part.exclusiveMinimum = try bound(value, path)
        case "exclusiveMaximum": part.exclusiveMaximum = try bound(value, path)
        case "multipleOf":
            let number = try bound(value, path)
            guard number.double > 0 else { throw invalid(value, path, "a number above 0") }
            part.multiple = number
        case "allOf": part.all = try schemas(value, path)
        case "anyOf": part.any = try schemas(value, path)
        case "oneOf": part.one = try schemas(value, path)
        case "not": part.not = try number(of: value, at: path)
        case "if": part.condition = try number(of: value, at: path)
        case "then": part.consequence = try number(of: value, at: path)
        case "else": part.alternative = try number(of: value, at: path)
        case "definitions":
            // Compile unused definitions too, so that errors in them are found.
            for definition in try mapping(value, path) {
                _ = try number(of: definition.value, at: path + [definition.key])
            }
        // Annotations (draft 7, section 10), and `enumNames`, the labels of enum values in Kinto's editor.
        case "$schema", "$id", "$comment", "title", "description", "default", "examples", "readOnly", "writeOnly",
            "contentMediaType", "contentEncoding", "enumNames":
            break
        default:
            throw Failure.schema(
                path: path, problem: "unknown keyword \(VisibleText.quote(member.key))",
                remedy: "write a keyword of JSON Schema draft 7, or remove it")
        }
    }

    private func invalid(_ value: JSONValue, _ path: [String], _ expected: String) -> Failure {
        Failure.schema(
            path: path, problem: "\(path.last ?? "the schema") cannot be \(value.kind)", remedy: "write \(expected)")
    }

    /// Resolves `#` or a JSON pointer into the schema (RFC 6901, section 6).
    private mutating func reference(_ value: JSONValue, _ path: [String]) throws(Failure) -> Int {
        let text = try text(value, path)
        guard text == "#" || text.hasPrefix("#/"), !text.contains("%") else {
            throw Failure.schema(
                path: path, problem: "the reference \(VisibleText.quote(text)) is not a plain path in this schema",
                remedy: "write # or a path without %, such as #/definitions/NAME")
        }
        var target = document
        var place: [String] = []
        for token in text.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
            let key = String(token).replacing("~1", with: "/").replacing("~0", with: "~")
            let next = target.array.flatMap { list in
                Int(key).flatMap { list.indices.contains($0) ? list[$0] : nil }
            }
            guard let found = next ?? target[key] else {
                throw Failure.schema(
                    path: path, problem: "there is no \(VisibleText.excerpt(text, limit: 100)) in the schema",
                    remedy: "define it, or correct the reference")
            }
            target = found
            place.append(key)
        }
        return try number(of: target, at: place)
    }

    private func types(_ value: JSONValue, _ path: [String]) throws(Failure) -> [SchemaType] {
        let names = value.array ?? [value]
        var types: [SchemaType] = []
        for name in names {
            guard let type = name.string.flatMap(SchemaType.init(rawValue:)) else {
                throw invalid(value, path, SchemaType.allCases.map(\.rawValue).joined(separator: ", "))
            }
            types.append(type)
        }
        guard !types.isEmpty else { throw invalid(value, path, "at least one type") }
        return types
    }

    private func mapping(_ value: JSONValue, _ path: [String]) throws(Failure) -> [JSONValue.Member] {
        guard case .object(let members) = value else { throw invalid(value, path, "a mapping") }
        return members
    }

    private func text(_ value: JSONValue, _ path: [String]) throws(Failure) -> String {
        guard let text = value.string else { throw invalid(value, path, "a string") }
        return text
    }

    private func pattern(_ text: String, _ path: [String]) throws(Failure) -> TextPattern {
        return try mapFailure(of: try TextPattern(text)) {
            Failure.schema(path: path, problem: "\($0)", remedy: "correct the pattern \(VisibleText.quote(text))")
        }
    }

    private func texts(_ value: JSONValue, _ path: [String]) throws(Failure) -> [String] {
        let texts = value.array?.compactMap(\.string)
        guard let texts, texts.count == value.array?.count else { throw invalid(value, path, "a list of strings") }
        return texts
    }

    private func count(_ value: JSONValue, _ path: [String]) throws(Failure) -> Int {
        guard let count = value.number.flatMap({ Int(exactly: $0.double) }), count >= 0 else {
            throw invalid(value, path, "a non-negative integer")
        }
        return count
    }

    private func bound(_ value: JSONValue, _ path: [String]) throws(Failure) -> JSONNumber {
        guard let number = value.number, number.double.isFinite else { throw invalid(value, path, "a number") }
        return number
    }

    private mutating func schemas(_ value: JSONValue, _ path: [String]) throws(Failure) -> [Int] {
        guard let list = value.array, !list.isEmpty else { throw invalid(value, path, "a list of schemas") }
        var found: [Int] = []
        for (index, schema) in list.enumerated() { found.append(try number(of: schema, at: path + ["\(index)"])) }
        return found
    }
}

extension JSONValue {
    /// A description of the value's type for messages.
    var kind: String {
        switch self {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .number(let number): "the number \(VisibleText.excerpt(number.text, limit: 40))"
        case .string(let text): "the string \(VisibleText.quote(text))"
        case .array(let elements): elements.isEmpty ? "an empty list" : "a list"
        case .object: "a mapping"
        }
    }
}
