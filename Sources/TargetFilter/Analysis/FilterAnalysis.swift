import RemoteSettingsModel

/// Tells which of several filters can pass, and which only pass when another one does, without a context.
///
/// The values that filters look at fall into classes that none of their comparisons can tell apart, such as all versions
/// between two that are written in them. Every combination of classes is tried. Two comparisons of one value can still
/// contradict each other unnoticed (a country's text and its length), so "no" is certain and "yes" is not.
package struct FilterAnalysis: Sendable {
    /// Steps that the questions to one analysis may take: some tens of milliseconds.
    package static var defaultBudget: Int { 1_000_000 }

    /// One for each filter; `nil` for one that is too long to look at.
    private let conditions: [FilterCondition?]
    private let subjects: [FilterSubject]
    /// The steps that are left. With too few, the answer to a question is "yes".
    package private(set) var budget: Int

    /// - Parameters:
    ///   - filters: the filters, which questions name by their positions.
    ///   - now: a time that `env.now` has reached already; `nil` if `env.now` can be any time.
    package init(_ filters: [FilterExpression], now: Timestamp? = nil, budget: Int = Self.defaultBudget) {
        var reader = FilterConditionReader()
        conditions = filters.map { filter in filter.tree.map { reader.condition($0) } }
        let earliest = now.map { Double($0.milliseconds) }
        subjects = reader.subjects.map { FilterSubject(of: $0, tests: $1, earliest: earliest) }
        self.budget = budget
    }

    /// Whether there may be a context in which the filter passes and none of the others does.
    ///
    /// - Parameters:
    ///   - filter: the position of a filter.
    ///   - others: the positions of other filters.
    package mutating func canPass(_ filter: Int, withoutAnyOf others: [Int]) -> Bool {
        guard let wanted = conditions[filter] else { return true }
        // What is not understood never makes a filter impossible.
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

/// A value, as far as it decides whether a filter passes.
enum FilterTruth: Hashable, Sendable {
    /// `true` and `false`.
    case yes, no
    /// Values that are no booleans.
    case truthy, falsy
    /// The evaluation ends with an error.
    case failure

    var isTruthy: Bool { self == .yes || self == .truthy }

    init(_ value: Bool) {
        self = value ? .yes : .no
    }
}

/// What a filter's value depends on: tests of subjects, by their numbers.
indirect enum FilterCondition: Sendable {
    case constant(FilterTruth)
    case test(subject: Int, test: Int)
    case not(FilterCondition)
    case and(FilterCondition, FilterCondition)
    case or(FilterCondition, FilterCondition)

    /// The operators' values are their operands', as when a filter is evaluated.
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

    /// - Returns: how many conditions it consists of.
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
