import RemoteSettingsModel
import TargetFilter

/// The JSON Schema of a collection's records, in a form that validates quickly. It is of draft 7, which Kinto uses.
///
/// An unknown keyword is an error, so that a schema never passes what it was meant to refuse. Annotations such as
/// `title` are allowed and have no effect. `$ref` must stay inside the schema.
package struct RecordSchema: Sendable {
    /// The members that Kinto leaves out when it validates a record (`kinto.views.records`), because the server sets
    /// them.
    package static let unvalidated: Set<ExactString> = ["id", "last_modified", "schema"]

    /// The schema itself, followed by the schemas inside it.
    let parts: [SchemaPart]

    /// Reads a schema. Does no I/O.
    ///
    /// - Throws: ``DumpsError`` for the first keyword that is unknown or has an invalid value.
    package init(_ schema: JSONValue) throws(DumpsError) {
        var reader = SchemaReader(schema)
        try reader.read()
        parts = reader.parts
    }

    /// The work for all records of a collection.
    package static func budget(_ limits: Limits = Limits()) -> WorkBudget { WorkBudget(steps: limits.schemaSteps) }

    /// Finds what the schema does not allow in a record, in the order of the schema's keywords; at most 20 violations.
    ///
    /// The members in ``unvalidated`` are neither checked nor required.
    ///
    /// - Parameter budget: ``budget(_:)`` at first. If it is exhausted, the last violation says so.
    package func violations(of record: JSONValue, budget: inout WorkBudget) -> [SchemaViolation] {
        var validation = SchemaValidation(parts: parts, budget: budget)
        defer { budget = validation.budget }
        if case .object(let members) = record {
            validation.validateRecord(.object(members.filter { !Self.unvalidated.contains($0.key.exact) }))
        } else {
            validation.validateRecord(record)
        }
        return validation.violations
    }
}

extension DumpsError {
    /// What is wrong with a schema.
    ///
    /// - Parameter path: the keys and indexes that lead to the faulty place in the schema.
    static func schema(path: [String], problem: String, remedy: String) -> Self {
        Self(.usage, problem: problem, remedy: remedy, details: .path(path))
    }
}

/// What is wrong with a record according to its schema.
package struct SchemaViolation: Hashable, Sendable {
    /// The keys and indexes that lead to the value in the record.
    package let path: [String]
    /// What was found, and what the schema expects.
    package let problem: String

    init(path: [String], problem: String) {
        self.path = path
        self.problem = VisibleText.excerpt(problem)
    }

    /// The path as text of bounded length; empty for the record itself.
    package var place: String {
        path.isEmpty ? "" : VisibleText.excerpt(path.map { VisibleText.excerpt($0, limit: 100) }.joined(separator: "."))
    }
}

/// One schema, with its keywords in the form that is validated. It refers to the schemas inside it by position.
struct SchemaPart: Sendable {
    var isNever = false
    /// The schema that `$ref` refers to. In draft 7, other keywords beside `$ref` have no effect.
    var reference: Int?
    var types: [SchemaType] = []
    var allowed: SchemaValues?
    /// The schemas of members, by the UTF-8 of their names.
    var properties: [ExactString: Int] = [:]
    var patternProperties: [(pattern: TextPattern, part: Int)] = []
    var otherProperties: Int?
    var propertyNames: Int?
    var required: [String] = []
    var dependencies: [(key: String, keys: [String], part: Int?)] = []
    var propertyCount = SchemaCount()
    var items: Int?
    var firstItems: [Int] = []
    var otherItems: Int?
    var contained: Int?
    var itemCount = SchemaCount()
    var hasUniqueItems = false
    var length = SchemaCount()
    var pattern: TextPattern?
    var format: SchemaFormat?
    var minimum: JSONNumber?
    var maximum: JSONNumber?
    var exclusiveMinimum: JSONNumber?
    var exclusiveMaximum: JSONNumber?
    var multiple: JSONNumber?
    var all: [Int] = []
    var any: [Int]?
    var one: [Int]?
    var not: Int?
    var condition: Int?
    var consequence: Int?
    var alternative: Int?
}

/// The values of `enum` or `const`.
struct SchemaValues: Sendable {
    let keys: Set<[UInt8]>
    /// The first of them, for messages.
    let text: String

    init(_ values: [JSONValue]) {
        keys = Set(values.map(\.comparable))
        let shown = values.prefix(10).map {
            VisibleText.excerpt(String(decoding: JSONText.compact($0), as: UTF8.self), limit: 60)
        }
        text = (values.count > 1 ? "one of " : "") + shown.joined(separator: ", ")
    }
}

struct SchemaCount: Sendable {
    var least = 0
    var most = Int.max
}

enum SchemaType: String, CaseIterable {
    case null, boolean, object, array, number, integer, string

    func has(_ value: JSONValue) -> Bool {
        switch (self, value) {
        case (.null, .null), (.boolean, .bool), (.object, .object), (.array, .array), (.number, .number),
            (.string, .string):
            true
        // Since draft 6, 1.0 is an integer (JSON Schema Validation, section 6.1.1).
        case (.integer, .number(let number)): number.double == number.double.rounded()
        default: false
        }
    }
}
