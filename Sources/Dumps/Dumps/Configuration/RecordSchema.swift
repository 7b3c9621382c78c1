import RemoteSettingsModel
import TargetFilter

/// The JSON Schema of a collection's records, compiled for fast validation. It must be of draft 7, like Kinto's.
///
/// An unknown keyword is an error, so that a misspelled rule does not silently allow everything. Annotations such as
/// `title` are allowed and have no effect. A `$ref` must point into the same schema.
package struct RecordSchema: Sendable {
    /// The members that Kinto skips when it validates a record (`kinto.views.records`), because the server sets them.
    package static let unvalidated: Set<ExactString> = ["id", "last_modified", "schema"]

    /// The root schema, followed by its subschemas.
    let parts: [SchemaPart]

    /// Compiles a schema. Does no I/O.
    ///
    /// - Throws: ``Failure`` for the first keyword that is unknown or has an invalid value.
    package init(_ schema: JSONValue) throws(Failure) {
        var reader = SchemaReader(schema)
        try reader.read()
        parts = reader.parts
    }

    /// Returns the maximum work for validating all records of a collection.
    package static var budget: WorkBudget { WorkBudget(steps: Limits.schemaSteps) }

    /// Returns the violations in a record, at most 20.
    ///
    /// The members in ``unvalidated`` are neither checked nor required.
    ///
    /// - Parameter budget: the remaining work, initially ``budget(_:)``. If it is exhausted, the last violation reports
    ///   that.
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

extension Failure {
    /// Returns an error for an invalid schema.
    ///
    /// - Parameter path: the keys and indexes that lead to the invalid part of the schema.
    static func schema(path: [String], problem: String, remedy: String) -> Self {
        Self(.usage, problem: problem, remedy: remedy, cause: .facts(.init(path)))
    }
}

/// A violation of a schema by a record.
package struct SchemaViolation: Hashable, Sendable {
    /// The keys and indexes that lead to the value in the record.
    package let path: [String]
    /// The actual value and the requirement of the schema, as a sentence.
    package let problem: String

    init(path: [String], problem: String) {
        self.path = path
        self.problem = VisibleText.excerpt(problem)
    }

    /// The path as text of limited length; empty for the record itself.
    package var place: String {
        path.isEmpty ? "" : VisibleText.excerpt(path.map { VisibleText.excerpt($0, limit: 100) }.joined(separator: "."))
    }
}

/// One schema with compiled keywords. It refers to its subschemas by their positions in ``RecordSchema/parts``.
struct SchemaPart: Sendable {
    var isNever = false
    /// The schema that `$ref` points to. In draft 7, all other keywords next to `$ref` are ignored.
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
    /// The first ten values, for messages.
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
