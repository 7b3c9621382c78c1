import RemoteSettingsModel
import SnapshotBundle

/// The section `guards:` of `dumps.yaml`: the conditions that a collection's new state must meet to be accepted.
///
/// A signature proves who published a state. A guard checks whether the state is plausible.
package struct Guards: Hashable, Sendable {
    /// The guards, named by their keys in `dumps.yaml`.
    enum Name: String, Hashable, Sendable, CaseIterable, Encodable {
        case notEmptied = "not-emptied"
        case minRecords = "min-records"
        case maxRemoved = "max-removed"
        case maxChanged = "max-changed"
        case maxAdded = "max-added"
        case maxGrowth = "max-growth"
        case requiredIDs = "required-ids"
        case schema
    }

    /// A number of records, or a percentage of the earlier records.
    enum Limit: Hashable, Sendable, CustomStringConvertible {
        case records(Int)
        case percent(Percent)

        /// Returns the number of records that may differ; `nil` for a percentage if there were no records.
        func allowed(of count: Int) -> Int? {
            switch self {
            case .records(let limit): limit
            case .percent(let percent): count == 0 ? nil : percent.share(of: count)
            }
        }

        var description: String {
            switch self {
            case .records(let count): "\(count)"
            case .percent(let percent): "\(percent)"
            }
        }
    }

    /// A percentage with at most two decimals.
    struct Percent: Hashable, Sendable, CustomStringConvertible {
        /// The percentage in hundredths of a percent, from 0 to 100,000,000.
        let hundredths: Int

        init(hundredths: Int) {
            self.hundredths = min(max(0, hundredths), 100_000_000)
        }

        /// Returns this percentage of a number, rounded down.
        func share(of count: Int) -> Int {
            let (product, isTooLarge) = count.multipliedReportingOverflow(by: hundredths)
            return isTooLarge ? Int.max : product / 10_000
        }

        var description: String {
            let decimals = hundredths % 100
            guard decimals > 0 else { return "\(hundredths / 100)%" }
            let text = decimals % 10 == 0 ? "\(decimals / 10)" : decimals < 10 ? "0\(decimals)" : "\(decimals)"
            return "\(hundredths / 100).\(text)%"
        }
    }

    /// Whether a collection that had records must keep at least one, and a newly published one must have one. This
    /// guard is the only one that is on by default.
    var keepsRecords = true
    var minRecords: Int?
    var maxRemoved: Limit?
    var maxChanged: Limit?
    var maxAdded: Limit?
    /// The limit on the growth of the number of records, and of their total size.
    var maxGrowth: Percent?
    var requiredIDs: [String] = []
    /// A JSON Schema of the records. It always comes from `dumps.yaml`, never from the server, because metadata is not
    /// signed.
    package var schema: JSONValue?

    package init() {}

    /// The guards that differ from the defaults, as written in `dumps.yaml`.
    var settings: [(name: Name, value: String)] {
        let values: [(Name, String?)] = [
            (.notEmptied, keepsRecords ? nil : "false"), (.minRecords, minRecords.map { "\($0)" }),
            (.maxRemoved, maxRemoved.map { "\($0)" }), (.maxChanged, maxChanged.map { "\($0)" }),
            (.maxAdded, maxAdded.map { "\($0)" }), (.maxGrowth, maxGrowth.map { "\($0)" }),
            (.requiredIDs, requiredIDs.isEmpty ? nil : "[\(requiredIDs.joined(separator: ", "))]"),
            (.schema, schema.map { String(decoding: JSONText.compact($0), as: UTF8.self) }),
        ]
        return values.compactMap { name, value in value.map { (name, $0) } }
    }
}

/// One violation of a guard.
package struct GuardViolation: Hashable, Sendable, Encodable, CustomStringConvertible {
    private enum CodingKeys: String, CodingKey {
        case guarding = "guard"
        case found, limit, ids
        case count = "records"
    }

    /// The maximum number of ids in a violation.
    private static let mostIDs = 10

    let guarding: Guards.Name
    /// A description of the actual value, such as `all 12 records are gone`.
    let found: String
    /// A description of the allowed value.
    let limit: String
    /// The ids of the first records that violate the guard, at most ten, sorted.
    let ids: [String]
    /// The number of records that violate the guard.
    let count: Int

    init(_ guarding: Guards.Name, found: String, limit: String, ids: [String], count: Int? = nil) {
        self.guarding = guarding
        self.found = VisibleText.excerpt(found)
        self.limit = VisibleText.excerpt(limit)
        self.ids = ids.prefix(Self.mostIDs).map { VisibleText.excerpt($0) }
        self.count = count ?? ids.count
    }

    /// The violation without the ids. The lock file stores it if the state is accepted nevertheless.
    package var sentence: String { "\(guarding.rawValue): \(found), \(limit)" }

    /// Whether the guard also applies if `dumps.yaml` has no guards.
    var isDefault: Bool { guarding == .notEmptied }

    package var description: String {
        guard !ids.isEmpty else { return sentence }
        let others = count > ids.count ? " and \(count - ids.count) more" : ""
        return "\(sentence) (\(ids.joined(separator: ", "))\(others))"
    }
}

extension Guards {
    /// Returns whether the result for a new state depends on the earlier records.
    func compare(_ new: RecordTable) -> Bool {
        keepsRecords && new.isEmpty || maxRemoved != nil || maxChanged != nil || maxAdded != nil || maxGrowth != nil
    }

    /// Checks a new state. Does no I/O.
    ///
    /// - Parameters:
    ///   - old: the earlier records; `nil` if there are none, or if they cannot be read. In that case, guards that
    ///     compare the states are skipped.
    ///   - oldCount: the number of earlier records, even if they cannot be read.
    ///   - isPublished: whether the new state is made from sources. A collection without records and without an earlier
    ///     state is then probably a mistake.
    /// - Returns: the violations, in the order of ``Name``.
    package func violations(
        of new: RecordTable, after old: RecordTable?, oldCount: Int? = nil, isPublished: Bool = false
    ) -> [GuardViolation] {
        var found: [GuardViolation] = []
        let count = old?.count ?? oldCount
        if keepsRecords, new.isEmpty, count.map({ $0 > 0 }) ?? isPublished {
            let words = count.map { "all \($0) records are gone" } ?? "the new collection has no records"
            found.append(.init(.notEmptied, found: words, limit: "at least 1 is required", ids: []))
        }
        if let minRecords, new.count < minRecords {
            found.append(
                .init(
                    .minRecords, found: Counted.text(new.count, "record"), limit: "at least \(minRecords) are required",
                    ids: []))
        }
        if let old { found += changes(of: new, after: old) }
        let missing = requiredIDs.filter { new.record(id: $0) == nil }
        if !missing.isEmpty {
            found.append(
                .init(
                    .requiredIDs,
                    found: "\(missing.count) of \(Counted.text(requiredIDs.count, "required id")) "
                        + "\(Counted.noun(missing.count, "is", plural: "are")) missing",
                    limit: "all are required", ids: missing))
        }
        return found + violations(ofSchemaBy: new)
    }

    private func changes(of new: RecordTable, after old: RecordTable) -> [GuardViolation] {
        var (removed, changed, added): ([String], [String], [String]) = ([], [], [])
        if maxRemoved != nil || maxChanged != nil || maxAdded != nil {
            for difference in new.differences(from: old) {
                switch difference {
                case .created(let record): added.append(record.id)
                case .updated(_, let record): changed.append(record.id)
                case .deleted(let record): removed.append(record.id)
                }
            }
        }
        var found: [GuardViolation] = []
        let limits: [(Name, Limit?, [String], String)] = [
            (.maxRemoved, maxRemoved, removed, "removed"), (.maxChanged, maxChanged, changed, "changed"),
            (.maxAdded, maxAdded, added, "added"),
        ]
        for (name, limit, ids, verb) in limits {
            guard let limit, let allowed = limit.allowed(of: old.count), ids.count > allowed else { continue }
            found.append(
                .init(
                    name, found: "\(ids.count) of \(Counted.text(old.count, "record")) \(verb)",
                    limit: "at most \(limit) allowed", ids: ids))
        }
        if let maxGrowth, !old.isEmpty {
            func excess(_ before: Int, _ after: Int) -> Bool {
                after > before.saturatingAdding(maxGrowth.share(of: before))
            }
            let (before, after) = (old.byteCount, new.byteCount)
            if excess(old.count, new.count) || excess(before, after) {
                let sizes = "\(ByteSize.text(UInt64(before))) → \(ByteSize.text(UInt64(after)))"
                found.append(
                    .init(
                        .maxGrowth, found: "\(old.count) → \(Counted.text(new.count, "record")), \(sizes)",
                        limit: "at most \(maxGrowth) growth allowed", ids: []))
            }
        }
        return found
    }

    private func violations(ofSchemaBy records: RecordTable) -> [GuardViolation] {
        guard let document = schema else { return [] }
        let schema: RecordSchema
        do throws(Failure) {
            schema = try RecordSchema(document)
        } catch {
            let place = (["schema"] + error.path).joined(separator: ".")
            return [.init(.schema, found: "\(place): \(error.problem)", limit: "so the schema is not valid", ids: [])]
        }
        var budget = RecordSchema.budget
        var ids: [String] = []
        var first: SchemaViolation?
        for record in records {
            guard let value = try? JSONValue(parsing: record.json) else { continue }
            let violations = schema.violations(of: value, budget: &budget)
            if budget.isExhausted {
                return [
                    .init(
                        .schema, found: "validating the records takes more than \(budget.limit) steps",
                        limit: "simplify the schema (Limits.schemaSteps)", ids: [record.id])
                ]
            }
            first = first ?? violations.first
            if !violations.isEmpty { ids.append(record.id) }
        }
        guard let first else { return [] }
        let place = first.place.isEmpty ? "" : "\(first.place): "
        return [
            .init(
                .schema,
                found:
                    "\(ids.count) of \(Counted.text(records.count, "record")) "
                    + "\(Counted.noun(ids.count, "does", plural: "do")) not match: \(place)\(first.problem)",
                limit: "all records must match", ids: ids)
        ]
    }
}

extension Guards: Encodable {
    /// Encodes the active guards, by name.
    package func encode(to encoder: any Encoder) throws {
        try Dictionary(uniqueKeysWithValues: all.map { ($0.name.rawValue, $0.value) }).encode(to: encoder)
    }

    /// The active guards on one line.
    package var words: String {
        let words = all.map { "\($0.name.rawValue) \(VisibleText.excerpt($0.value, limit: 100))" }
        return words.isEmpty ? "none" : words.joined(separator: ", ")
    }

    private var all: [(name: Name, value: String)] {
        (keepsRecords ? [(.notEmptied, "true")] : []) + settings.filter { $0.name != .notEmptied }
    }
}
