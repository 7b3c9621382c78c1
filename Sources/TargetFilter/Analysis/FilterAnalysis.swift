import RemoteSettingsModel

/// Tells, without a context, which of several filters can pass, and which pass only if another one does.
///
/// The values that filters test fall into classes that no comparison in them can tell apart. One class is all versions
/// between two that the filters name. Every combination of classes is tried. Two tests of one value may contradict each
/// other unnoticed, such as a country's text and its length. So "no" is certain, but "yes" is not.
package struct FilterAnalysis: Sendable {
    /// The steps for all questions to one analysis. They take some tens of milliseconds.
    package static var defaultBudget: Int { 1_000_000 }

    /// The condition of each filter; `nil` for a filter that is too long to analyse.
    private let conditions: [FilterCondition?]
    private let subjects: [FilterSubject]
    /// The steps that are left. If they are too few, the answer to a question is "yes".
    package private(set) var budget: Int

    /// - Parameters:
    ///   - filters: the filters. Questions refer to them by position.
    ///   - now: a time that `env.now` has already reached; `nil` if `env.now` can be any time.
    package init(_ filters: [FilterExpression], now: Timestamp? = nil, budget: Int = Self.defaultBudget) {
        var reader = FilterConditionReader()
        conditions = filters.map { filter in filter.tree.map { reader.condition($0) } }
        let earliest = now.map { Double($0.milliseconds) }
        subjects = reader.subjects.map { FilterSubject(of: $0, tests: $1, earliest: earliest) }
        self.budget = budget
    }

    /// Whether there may be a context in which this filter passes and none of the others does.
    ///
    /// - Parameters:
    ///   - filter: the position of a filter.
    ///   - others: the positions of other filters.
    package mutating func canPass(_ filter: Int, withoutAnyOf others: [Int]) -> Bool {
        guard let wanted = conditions[filter] else { return true }
        // A filter that could not be analysed never makes another one impossible.
        let unwanted = others.compactMap { conditions[$0] }
        var used: Set<Int> = []
        let size = (unwanted + [wanted]).reduce(0) { $0 + $1.addSubjects(to: &used) }
        let looked = used.sorted()
        let combinations = looked.reduce(1) { $0.saturatingMultiplying(by: subjects[$1].classes.count) }
        let work = combinations.saturatingMultiplying(by: size)
        guard work <= budget else { return true }
        budget -= work
        var chosen = Array(repeating: 0, count: subjects.count)
        for number in 0..<combinations {
            var rest = number
            for subject in looked {
                chosen[subject] = rest % subjects[subject].classes.count
                rest /= subjects[subject].classes.count
            }
            func truth(_ condition: FilterCondition) -> FilterTruth {
                condition.truth { subject, test in subjects[subject].classes[chosen[subject]][test] }
            }
            if truth(wanted) == .yes, !unwanted.contains(where: { truth($0) == .yes }) { return true }
        }
        return false
    }
}

/// A value, reduced to what decides whether a filter passes.
enum FilterTruth: Hashable, Sendable {
    /// The booleans `true` and `false`.
    case yes, no
    /// Values that are not booleans.
    case truthy, falsy
    /// The evaluation ends with an error.
    case failure

    var isTruthy: Bool { self == .yes || self == .truthy }

    init(_ value: Bool) {
        self = value ? .yes : .no
    }
}

/// What a filter's value depends on: tests of subjects. Both are numbered.
indirect enum FilterCondition: Sendable {
    case constant(FilterTruth)
    case test(subject: Int, test: Int)
    case not(FilterCondition)
    case and(FilterCondition, FilterCondition)
    case or(FilterCondition, FilterCondition)

    /// The filter's value. An operator's value is that of one of its operands, as in an evaluation.
    func truth(_ outcome: (_ subject: Int, _ test: Int) -> FilterTruth) -> FilterTruth {
        switch self {
        case .constant(let truth): return truth
        case .test(let subject, let test): return outcome(subject, test)
        case .not(let operand):
            let truth = operand.truth(outcome)
            return truth == .failure ? .failure : FilterTruth(!truth.isTruthy)
        case .and(let left, let right):
            let truth = left.truth(outcome)
            return truth.isTruthy ? right.truth(outcome) : truth
        case .or(let left, let right):
            let truth = left.truth(outcome)
            return truth.isTruthy || truth == .failure ? truth : right.truth(outcome)
        }
    }

    /// - Returns: the number of conditions that it consists of.
    func addSubjects(to used: inout Set<Int>) -> Int {
        switch self {
        case .constant: return 1
        case .test(let subject, _):
            used.insert(subject)
            return 1
        case .not(let operand): return 1 + operand.addSubjects(to: &used)
        case .and(let left, let right), .or(let left, let right):
            return 1 + left.addSubjects(to: &used) + right.addSubjects(to: &used)
        }
    }
}
