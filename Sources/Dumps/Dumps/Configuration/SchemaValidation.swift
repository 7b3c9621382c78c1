import RemoteSettingsModel
import TargetFilter

/// A validation of a value against a schema.
struct SchemaValidation {
    private static let mostViolations = 20
    /// The maximum depth of values and references, which also stops circular references.
    private static let deepest = 200
    /// The fixed cost, in steps, of validating a value against one schema. The cost that depends on the sizes of the
    /// value and the schema is added to it.
    private static let partSteps = 20

    let parts: [SchemaPart]
    private(set) var budget: WorkBudget
    private(set) var violations: [SchemaViolation] = []
    private var path: [String] = []
    private var depth = 0
    private var hasEnded = false
    /// The number of nested trials: validations for `not`, `anyOf` and similar keywords, in which only the result
    /// matters.
    private var trials = 0
    /// Whether the value fails the innermost trial.
    private var hasFailed = false

    init(parts: [SchemaPart], budget: WorkBudget) {
        self.parts = parts
        self.budget = budget
    }

    /// Validates a record against the root schema. Members that are never validated are not required either.
    mutating func validateRecord(_ record: JSONValue) {
        guard var part = parts.first else { return }
        part.required.removeAll { RecordSchema.unvalidated.contains($0.exact) }
        validate(record, part)
    }

    private mutating func report(_ problem: @autoclosure () -> String) {
        if hasEnded { return }
        if trials > 0 {
            hasFailed = true
        } else if violations.count < Self.mostViolations {
            violations.append(SchemaViolation(path: path, problem: problem()))
        }
    }

    /// Stops the validation. The record counts as invalid, even during a trial.
    private mutating func end(_ problem: String) {
        if !hasEnded { violations.append(SchemaViolation(path: path, problem: problem)) }
        hasEnded = true
    }

    /// Spends some of the work budget.
    ///
    /// - Returns: whether the validation may continue.
    private mutating func spend(_ steps: Int) -> Bool {
        if !hasEnded, (try? budget.spend(steps)) == nil {
            end("validating the collection takes more than \(budget.limit) steps")
        }
        return !hasEnded
    }

    private mutating func validate(_ value: JSONValue, _ number: Int) { validate(value, parts[number]) }

    private mutating func validate(_ value: JSONValue, _ part: SchemaPart) {
        guard !(trials > 0 && hasFailed), spend(Self.partSteps) else { return }
        guard depth < Self.deepest else { return end("the value or the schema is nested too deeply") }
        depth += 1
        defer { depth -= 1 }
        if part.isNever { return report("found \(value.kind), but the schema allows no value here") }
        if let reference = part.reference { return validate(value, reference) }
        if !part.types.isEmpty, !part.types.contains(where: { $0.has(value) }) {
            return report("found \(value.kind), expected \(part.types.map(\.rawValue).joined(separator: " or "))")
        }
        if let allowed = part.allowed, !allowed.keys.contains(comparable(value)) {
            report("found \(value.kind), expected \(allowed.text)")
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

    private mutating func comparable(_ value: JSONValue) -> [UInt8] {
        let bytes = value.comparable
        _ = spend(bytes.count)
        return bytes
    }

    /// Returns whether a value conforms to a schema.
    private mutating func fits(_ value: JSONValue, _ number: Int) -> Bool {
        let before = hasFailed
        (trials, hasFailed) = (trials + 1, false)
        validate(value, number)
        defer { (trials, hasFailed) = (trials - 1, before) }
        return !hasFailed
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
        if let not = part.not, fits(value, not) { report("found \(value.kind), which \"not\" in the schema excludes") }
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
        if count < bounds.least { report("found \(Counted.text(count, what)), expected at least \(bounds.least)") }
        if count > bounds.most { report("found \(Counted.text(count, what)), expected at most \(bounds.most)") }
    }

    /// Returns whether the pattern occurs in the string.
    ///
    /// - Returns: `nil` if the search is too expensive.
    private mutating func matches(_ pattern: TextPattern, _ text: String) -> Bool? {
        do throws(Failure) {
            return try pattern.occurs(in: text, budget: &budget)
        } catch {
            _ = spend(0)
            return nil
        }
    }

    private mutating func validate(_ members: [JSONValue.Member], _ part: SchemaPart) {
        check(members.count, part.propertyCount, "member")
        let keys = part.required.isEmpty && part.dependencies.isEmpty ? [] : checkPresence(members, part)
        for member in members {
            guard spend(1 + member.key.utf8.count / 16) else { return }
            var isKnown = false
            if let property = part.properties[member.key] {
                isKnown = true
                validate(at: member.key, member.value, property)
            }
            for property in part.patternProperties {
                switch matches(property.pattern, member.key) {
                case true?:
                    isKnown = true
                    validate(at: member.key, member.value, property.part)
                case false?: break
                case nil:
                    report("the key \(VisibleText.quote(member.key)) takes too long to match \(property.pattern.text)")
                }
                if hasEnded { return }
            }
            if !isKnown, let other = part.otherProperties {
                if parts[other].isNever {
                    path.append(member.key)
                    report("the schema does not allow the member \(VisibleText.excerpt(member.key, limit: 100))")
                    path.removeLast()
                } else {
                    validate(at: member.key, member.value, other)
                }
            }
            if let names = part.propertyNames { validate(at: member.key, .string(member.key), names) }
        }
        for dependency in part.dependencies where keys.contains(dependency.key.exact) {
            guard let number = dependency.part else { continue }
            if spend(members.count) { validate(.object(members), number) }
        }
    }

    /// Checks `required`, and `dependencies` that list members.
    ///
    /// - Returns: the keys of the members; empty if the budget is exhausted.
    private mutating func checkPresence(_ members: [JSONValue.Member], _ part: SchemaPart) -> Set<ExactString> {
        let size = members.reduce(0) { $0 + 1 + $1.key.utf8.count / 16 }
        guard spend(size + part.required.count + part.dependencies.reduce(0) { $0 + 1 + $1.keys.count }) else {
            return []
        }
        let keys = Set(members.map(\.key.exact))
        for key in part.required where !keys.contains(key.exact) { report("the member \(key) is missing") }
        for dependency in part.dependencies where keys.contains(dependency.key.exact) {
            for key in dependency.keys where !keys.contains(key.exact) {
                report("the member \(key) is missing; it is required with \(dependency.key)")
            }
        }
        return keys
    }

    private mutating func validate(_ elements: [JSONValue], _ part: SchemaPart) {
        check(elements.count, part.itemCount, "element")
        guard spend(elements.count) else { return }
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
            report("no element matches the \"contains\" schema")
        }
        if part.hasUniqueItems {
            var seen: Set<[UInt8]> = []
            for element in elements where !hasEnded && !seen.insert(comparable(element)).inserted {
                return report("\(element.kind) is in the list twice, but elements must be unique")
            }
        }
    }

    private mutating func validate(_ text: String, _ part: SchemaPart) {
        guard spend(text.utf8.count / 16) else { return }
        check(text.unicodeScalars.count, part.length, "character")
        if let pattern = part.pattern {
            switch matches(pattern, text) {
            case true?: break
            case false?: report("\(JSONValue.string(text).kind) does not match \(pattern.text)")
            case nil: report("the string takes too long to match \(pattern.text)")
            }
        }
        if let format = part.format, spend(format.steps), !format.has(text) {
            report("\(JSONValue.string(text).kind) does not have the format \(format.rawValue)")
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
    /// Returns bytes that are equal for two values exactly if JSON Schema considers the values equal: numbers are
    /// compared by value, and the order of members is ignored.
    var comparable: [UInt8] {
        var bytes: [UInt8] = []
        appendComparable(to: &bytes)
        return bytes
    }

    private func appendComparable(to bytes: inout [UInt8]) {
        switch self {
        case .number(let number):
            let text = (number.int64 ?? Int64(exactly: number.double)).map { "\($0)" }
            bytes += (text ?? number.uint64.map { "\($0)" } ?? "\(number.double)").utf8
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for element in elements {
                element.appendComparable(to: &bytes)
                bytes.append(UInt8(ascii: ","))
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for member in members.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
                bytes += JSONText.compact(.string(member.key))
                bytes.append(UInt8(ascii: ":"))
                member.value.appendComparable(to: &bytes)
                bytes.append(UInt8(ascii: ","))
            }
            bytes.append(UInt8(ascii: "}"))
        default: bytes += JSONText.compact(self)
        }
    }
}
