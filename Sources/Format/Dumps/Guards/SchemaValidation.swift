import RemoteSettingsModel

/// Validates a value against a schema.
struct SchemaValidation {
    private static let mostViolations = 20
    /// The largest number of schemas that one record is validated against. Without a limit, `$ref` and `anyOf` could
    /// multiply endlessly.
    private static let mostSteps = 100_000
    /// The largest depth of values and references. It also stops references that lead to each other.
    private static let deepest = 200

    let parts: [SchemaPart]
    private(set) var violations: [SchemaViolation] = []
    private var path: [String] = []
    private var steps = 0
    private var depth = 0
    private var hasEnded = false

    init(parts: [SchemaPart]) {
        self.parts = parts
    }

    /// Validates a record against the schema itself, but does not require members that are not validated.
    mutating func validateRecord(_ record: JSONValue) {
        guard var part = parts.first else { return }
        part.required.removeAll { RecordSchema.unvalidated.contains($0) }
        validate(record, part)
    }

    private mutating func report(_ problem: String) {
        if violations.count < Self.mostViolations { violations.append(SchemaViolation(path: path, problem: problem)) }
    }

    private mutating func validate(_ value: JSONValue, _ number: Int) { validate(value, parts[number]) }

    private mutating func validate(_ value: JSONValue, _ part: SchemaPart) {
        steps += 1
        guard !hasEnded else { return }
        guard steps <= Self.mostSteps, depth < Self.deepest else {
            hasEnded = true
            return report("the schema is too deep or too large to validate this value")
        }
        depth += 1
        defer { depth -= 1 }
        if part.isNever { return report("found \(value.kind), but the schema allows no value here") }
        if let reference = part.reference { return validate(value, reference) }
        if !part.types.isEmpty, !part.types.contains(where: { $0.has(value) }) {
            let expected = part.types.map(\.rawValue).joined(separator: " or ")
            return report("found \(value.kind), expected \(expected)")
        }
        if let allowed = part.allowed, !allowed.contains(where: { $0.isSame(as: value) }) {
            let shown = allowed.prefix(10).map { String(decoding: JSONText.compact($0).prefix(60), as: UTF8.self) }
                .joined(separator: ", ")
            report("found \(value.kind), expected \(allowed.count > 1 ? "one of " : "")\(shown)")
        }
        switch value {
        case .object(let members): validate(members, part)
        case .array(let elements): validate(elements, part)
        case .string(let text): validate(text, part)
        case .number(let number): validate(number, part)
        case .null, .bool: break
        }
        combine(value, part)
    }

    /// Whether a value conforms to a schema.
    private mutating func fits(_ value: JSONValue, _ number: Int) -> Bool {
        let before = violations
        violations = []
        validate(value, number)
        let fits = violations.isEmpty
        violations = before
        if hasEnded, violations.isEmpty {
            report("the schema is too deep or too large to validate this value")
        }
        return fits
    }

    private mutating func combine(_ value: JSONValue, _ part: SchemaPart) {
        for number in part.all { validate(value, number) }
        if let any = part.any, !any.contains(where: { fits(value, $0) }) {
            report("found \(value.kind), which matches none of the \(any.count) schemas in anyOf")
        }
        if let one = part.one {
            let count = one.count { fits(value, $0) }
            if count != 1 { report("found \(value.kind), which matches \(count) schemas in oneOf, expected 1") }
        }
        if let not = part.not, fits(value, not) { report("found \(value.kind), which \"not\" excludes") }
        if let condition = part.condition {
            if let next = fits(value, condition) ? part.consequence : part.alternative { validate(value, next) }
        }
    }

    private mutating func validate(at key: String, _ value: JSONValue, _ number: Int) {
        path.append(key)
        validate(value, number)
        path.removeLast()
    }

    private mutating func check(_ count: Int, _ bounds: SchemaCount, _ what: String) {
        if count < bounds.least { report("found \(count) \(what), expected at least \(bounds.least)") }
        if count > bounds.most { report("found \(count) \(what), expected at most \(bounds.most)") }
    }

    private mutating func validate(_ members: [JSONValue.Member], _ part: SchemaPart) {
        check(members.count, part.propertyCount, "members")
        let keys = Set(members.map(\.key))
        for key in part.required where !keys.contains(key) { report("the member \(key) is missing") }
        for member in members {
            var isKnown = false
            for property in part.properties where property.key == member.key {
                isKnown = true
                validate(at: member.key, member.value, property.part)
            }
            for property in part.patternProperties {
                switch property.pattern.matches(member.key) {
                case true?:
                    isKnown = true
                    validate(at: member.key, member.value, property.part)
                case false?: break
                case nil: report("the key \(member.key.prefix(60)) takes too long to match \(property.pattern.text)")
                }
            }
            if !isKnown, let other = part.otherProperties {
                if parts[other].isNever {
                    path.append(member.key)
                    report("the schema does not allow the member \(member.key.prefix(60))")
                    path.removeLast()
                } else {
                    validate(at: member.key, member.value, other)
                }
            }
            if let names = part.propertyNames { validate(at: member.key, .string(member.key), names) }
        }
        for dependency in part.dependencies where keys.contains(dependency.key) {
            for key in dependency.keys where !keys.contains(key) {
                report("the member \(key) is missing, which \(dependency.key) requires")
            }
            if let number = dependency.part { validate(.object(members), number) }
        }
    }

    private mutating func validate(_ elements: [JSONValue], _ part: SchemaPart) {
        check(elements.count, part.itemCount, "elements")
        for (index, element) in elements.enumerated() {
            if let items = part.items {
                validate(at: "\(index)", element, items)
            } else if index < part.firstItems.count {
                validate(at: "\(index)", element, part.firstItems[index])
            } else if let other = part.otherItems {
                validate(at: "\(index)", element, other)
            }
        }
        if let contained = part.contained, !elements.contains(where: { fits($0, contained) }) {
            report("no element matches the schema in contains")
        }
        if part.hasUniqueItems {
            var seen: Set<String> = []
            for element in elements where !seen.insert(element.comparable).inserted {
                return report("\(element.kind) is in the list twice, expected unique elements")
            }
        }
    }

    private mutating func validate(_ text: String, _ part: SchemaPart) {
        check(text.unicodeScalars.count, part.length, "characters")
        if let pattern = part.pattern {
            switch pattern.matches(text) {
            case true?: break
            case false?: report("\(JSONValue.string(text).kind) does not match \(pattern.text)")
            case nil: report("the string takes too long to match \(pattern.text)")
            }
        }
        if let format = part.format, !format.has(text) {
            report("\(JSONValue.string(text).kind) is not in the format \(format.rawValue)")
        }
    }

    private mutating func validate(_ number: JSONNumber, _ part: SchemaPart) {
        let value = number.double
        if let bound = part.minimum, value < bound.double { report("found \(number), expected at least \(bound)") }
        if let bound = part.maximum, value > bound.double { report("found \(number), expected at most \(bound)") }
        if let bound = part.exclusiveMinimum, value <= bound.double {
            report("found \(number), expected more than \(bound)")
        }
        if let bound = part.exclusiveMaximum, value >= bound.double {
            report("found \(number), expected less than \(bound)")
        }
        if let multiple = part.multiple {
            let quotient = value / multiple.double
            if quotient != quotient.rounded() { report("found \(number), expected a multiple of \(multiple)") }
        }
    }
}

extension JSONValue {
    /// A text that is the same for two values exactly if JSON Schema treats them as equal: numbers are compared by
    /// value, and members in any order.
    var comparable: String {
        switch self {
        case .number(let number): (number.int64 ?? Int64(exactly: number.double)).map { "\($0)" } ?? "\(number.double)"
        case .array(let elements): "[\(elements.map(\.comparable).joined(separator: ","))]"
        case .object(let members):
            "{\(members.map { "\(JSONValue.string($0.key).comparable):\($0.value.comparable)" }.sorted())}"
        default: String(decoding: JSONText.compact(self), as: UTF8.self)
        }
    }

    func isSame(as other: JSONValue) -> Bool { comparable == other.comparable }
}
