import RemoteSettingsModel

/// Decides which records of a collection an app gets: records without a filter, and records whose filter is `true`.
///
/// A collection has few distinct filters, and each is evaluated only once per `RecordFilter`. So use one value for all
/// records of a read. When their filters have taken ``FilterLimits/readSteps``, the rest count as not matching.
package struct RecordFilter: Sendable {
    /// The member of a record that contains its filter.
    package static let fieldName = "filter_expression"

    /// The beginning of the member in canonical JSON.
    private static let member = ByteSearch("\"\(fieldName)\":".utf8)

    /// The number of distinct filters whose outcomes are cached. Further filters are evaluated again for each record.
    private static var rememberedOutcomes: Int { 1000 }

    package let context: FilterContext
    private var outcomes: [ExactString: FilterOutcome] = [:]
    /// The remaining work for all evaluations.
    private var budget: WorkBudget
    /// The number of records that were excluded because the filters of the read take too much work.
    package private(set) var unevaluated = 0

    package init(context: FilterContext, steps: Int = FilterLimits.readSteps) {
        self.context = context
        budget = WorkBudget(steps: steps)
    }

    /// Returns whether `record` is for this context: it has no filter, a blank filter, or a filter that is `true`.
    static func includes(record: Record, context: FilterContext) -> Bool {
        var filter = RecordFilter(context: context)
        return filter.includes(record)
    }

    package mutating func includes(_ record: Record) -> Bool { outcome(of: record).isIncluded }

    /// Makes the same decision as ``includes(_:)``, and returns the reason.
    package mutating func outcome(of record: Record) -> FilterOutcome {
        guard Self.mentionsFilter(record.json) else { return .passed }
        switch record.field(Self.fieldName) {
        case nil, .null: return .passed
        case .string(let text): return outcome(of: text)
        case .bool: return .failed(.notAString(found: "a boolean"))
        case .number: return .failed(.notAString(found: "a number"))
        case .array: return .failed(.notAString(found: "an array"))
        case .object: return .failed(.notAString(found: "an object"))
        }
    }

    /// Evaluates `expression` in this context. A blank expression includes every record.
    package mutating func outcome(of expression: String) -> FilterOutcome {
        if expression.unicodeScalars.allSatisfy(\.properties.isWhitespace) { return .passed }
        if let known = outcomes[expression] { return known }
        var outcome = FilterOutcome.rejected
        if !budget.isExhausted {
            do throws(Failure) {
                try budget.spend(expression.utf8.count / 4)
                let parsed = try FilterExpression(parsing: expression)
                outcome = FilterOutcome(try parsed.evaluate(in: context, budget: &budget))
            } catch {
                outcome = .failed(error)
            }
        }
        guard !budget.isExhausted else {
            unevaluated += 1
            return .failed(.tooMuchWorkInRead(limit: budget.limit))
        }
        if outcomes.count < Self.rememberedOutcomes { outcomes[expression] = outcome }
        return outcome
    }

    /// Returns whether the canonical JSON of one or more records contains the filter member anywhere.
    ///
    /// Most records have none, and searching the bytes is much faster than parsing records. Canonical JSON escapes a
    /// quotation mark in a string as `\"`, so a string cannot look like the member.
    private static func mentionsFilter(_ json: Bytes) -> Bool {
        json.withSpan { Self.member.first(in: $0) != nil }
    }
}

extension FilterContext {
    /// Creates a context with the record itself at the root, for rules over records such as `fromLang == "en" &&
    /// attachment.size < 1000000`.
    ///
    /// - Throws: ``Failure`` if the record's JSON cannot be parsed.
    package init(record: Record) throws(Failure) {
        let json = try JSONValue(parsing: record.json)
        guard case .object(let root) = FilterValue(json) else {
            throw Failure(.wrongType(expected: "an object", found: json.kind), at: 0)
        }
        self.init(root: root)
    }
}
