import RemoteSettingsModel
import TargetFilter

/// The parameters of one state of a collection, with lookup by key.
///
/// Creating a set requires a single pass over the records. Filters are evaluated and values are parsed when a key is
/// looked up.
package struct ParameterSet: Sendable {
    /// The records, in the order of their table, which is sorted by id.
    package let records: [ParameterRecord]
    /// The position of the first record of each key.
    private var firstOfKey: [ExactString: Int32] = [:]
    /// For each record, the position of the next record of the same key; -1 after the last.
    private var nextOfKey: [Int32]

    /// Creates a set without parameters.
    package init() {
        records = []
        nextOfKey = []
    }

    /// Creates a set from a table's records.
    ///
    /// - Throws: ``Failure`` for the first record that is not a parameter.
    package init(_ table: some Sequence<Record>) throws(Failure) {
        var records: [ParameterRecord] = []
        records.reserveCapacity(table.underestimatedCount)
        var isSorted = true
        for record in table {
            let parameter = try ParameterRecord(record)
            if let last = records.last, !Self.precedes(last, parameter) { isSorted = false }
            records.append(parameter)
        }
        if !isSorted { records.sort(by: Self.precedes) }
        self.records = records
        nextOfKey = Array(repeating: -1, count: records.count)
        firstOfKey.reserveCapacity(records.count)
        for position in records.indices.reversed() {
            // The conversion cannot truncate: a collection has far fewer than 2^31 records (`Limits.records`).
            let number = Int32(truncatingIfNeeded: position)
            if let next = firstOfKey.updateValue(number, forKey: records[position].key.exact) {
                nextOfKey[position] = next
            }
        }
    }

    private static func precedes(_ left: ParameterRecord, _ right: ParameterRecord) -> Bool {
        left.id.utf8.lexicographicallyPrecedes(right.id.utf8)
    }

    /// All keys that have a record, in any order.
    package var keys: some Collection<ExactString> & Sendable { firstOfKey.keys }

    package func contains(_ key: String) -> Bool { firstOfKey[key] != nil }

    /// Returns the records of a key in the order in which they are tried: by rank, then by id.
    package func candidates(for key: String) -> [ParameterRecord] {
        guard let first = firstOfKey[key] else { return [] }
        var found: [ParameterRecord] = []
        var position = Int(first)
        while position >= 0 {
            found.append(records[position])
            position = Int(nextOfKey[position])
        }
        // `sort` is stable, so records of the same rank remain sorted by id.
        if found.count > 1 { found.sort { $0.rank > $1.rank } }
        return found
    }

    /// Returns the record that determines a key's value; `nil` if no record's filter passes.
    ///
    /// Among the records whose filter passes, it is the one with the highest rank. If ranks are equal, it is the one
    /// with the smallest id.
    ///
    /// - Parameter filter: evaluates filters in one context. Use the same one for all keys, so that each distinct
    ///   filter is evaluated only once.
    package func winner(for key: String, _ filter: inout RecordFilter) -> ParameterRecord? {
        guard let first = firstOfKey[key] else { return nil }
        // A fast path: most keys have only one record.
        if nextOfKey[Int(first)] < 0 {
            let only = records[Int(first)]
            return Self.outcome(of: only, &filter).isIncluded ? only : nil
        }
        for candidate in candidates(for: key) where Self.outcome(of: candidate, &filter).isIncluded { return candidate }
        return nil
    }

    private static func outcome(of candidate: ParameterRecord, _ filter: inout RecordFilter) -> FilterOutcome {
        candidate.filter.map { filter.outcome(of: $0) } ?? .passed
    }
}

/// The record that determines a key's value in one context, and the reasons that the others do not.
package struct ParameterExplanation: Sendable {
    package enum Verdict: Equatable, Sendable {
        case wins
        /// The record's filter passes, but the record with this id precedes it.
        case outranked(by: String)
        /// The record's filter does not pass.
        case excluded(FilterOutcome)
    }

    package struct Candidate: Sendable {
        package let parameter: ParameterRecord
        package let verdict: Verdict
        /// The rollout plan that the record's filter was generated from, and the plan's share at the context's
        /// `env.now`; `nil` if there is no plan.
        package let ramp: (plan: Ramp, share: Int)?
    }

    package let key: String
    /// The key's records by rank, then by id.
    package let candidates: [Candidate]

    /// The record that determines the value; `nil` if none applies. The app's own default is then used.
    package var winner: ParameterRecord? { candidates.first { $0.verdict == .wins }?.parameter }
}

extension ParameterSet {
    /// Returns the record that ``winner(for:_:)`` finds for a key, together with all other records of the key and the
    /// reasons that they were not chosen. Evaluates all of the key's filters.
    package func explanation(of key: String, _ filter: inout RecordFilter) -> ParameterExplanation {
        var winner: String?
        var explained: [ParameterExplanation.Candidate] = []
        let now = filter.context.now
        for candidate in candidates(for: key) {
            let outcome = Self.outcome(of: candidate, &filter)
            let verdict: ParameterExplanation.Verdict
            if !outcome.isIncluded {
                verdict = .excluded(outcome)
            } else if let winner {
                verdict = .outranked(by: winner)
            } else {
                winner = candidate.id
                verdict = .wins
            }
            let ramp = candidate.ramp.map { (plan: $0, share: $0.share(at: now)) }
            explained.append(.init(parameter: candidate, verdict: verdict, ramp: ramp))
        }
        return ParameterExplanation(key: key, candidates: explained)
    }
}

extension ParameterExplanation.Candidate: CustomStringConvertible {
    package var description: String {
        let rank =
            switch (parameter.priority, parameter.hasFilter) {
            case (let priority?, _): "priority \(priority)"
            case (nil, true): "priority 0"
            case (nil, false): "default"
            }
        let reason =
            switch verdict {
            case .wins: parameter.hasFilter ? "wins: its filter is true" : "wins: it has no filter"
            case .outranked(let winner): "outranked by \(winner)"
            case .excluded(let outcome): "\(outcome)"
            }
        let plan = ramp.map { "; ramp: \($0.plan); now \(Ramp.percent($0.share))" } ?? ""
        return "\(parameter.id) (\(rank)): \(reason)\(plan)"
    }
}

extension FilterContext {
    /// The value of `env.now`, or the start of 1970 if that is not a time.
    fileprivate var now: Timestamp {
        guard case .object(let env) = root["env"], case .number(let now) = env["now"] else {
            return Timestamp(milliseconds: 0)
        }
        return Timestamp(milliseconds: UInt64(exactly: now.rounded(.down)) ?? 0)
    }
}
