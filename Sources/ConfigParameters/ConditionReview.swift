import RemoteSettingsModel
import TargetFilter

/// Finds values of a parameter that no device can get. It looks only at their conditions.
package struct ConditionReview {
    package enum Problem: Hashable, Sendable {
        /// No device passes the filter.
        case neverApplies
        /// Each device that passes the filter passes one of these earlier filters. The numbers are positions in the
        /// order of asking.
        case shadowed(by: [Int])
    }

    package struct Finding: Hashable, Sendable {
        package let position: Int
        package let problem: Problem
    }

    /// A time that all devices have already reached; `nil` if a filter may be evaluated at any time.
    private let now: Timestamp?
    /// The budget that is left for all parameters of a set. When it is used up, nothing more is found.
    private var budget = FilterAnalysis.defaultBudget * 20
    /// The findings by conditions, because many parameters of a set have the same conditions.
    private var known: [[String?]: [Finding]] = [:]

    package init(now: Timestamp?) {
        self.now = now
    }

    /// - Parameter filters: the filters of a parameter's values in the order in which they are asked; `nil` for a value
    ///   without one. A filter that does not parse is skipped.
    package mutating func findings(_ filters: [String?]) -> [Finding] {
        guard filters.contains(where: { $0 != nil }) else { return [] }
        if let findings = known[filters] { return findings }
        let findings = review(filters)
        if known.count < 10_000 { known[filters] = findings }
        return findings
    }

    private mutating func review(_ filters: [String?]) -> [Finding] {
        var positions: [Int] = []
        var expressions: [FilterExpression] = []
        for (position, filter) in filters.enumerated() {
            guard let expression = try? FilterExpression(parsing: filter ?? "true") else { continue }
            positions.append(position)
            expressions.append(expression)
        }
        var analysis = FilterAnalysis(expressions, now: now, budget: min(budget, FilterAnalysis.defaultBudget))
        let available = analysis.budget
        defer { budget -= available - analysis.budget }
        var findings: [Finding] = []
        // The filters of values that some device may get.
        var asked: [Int] = []
        for index in expressions.indices {
            guard filters[positions[index]] != nil else {
                asked.append(index)
                continue
            }
            switch problem(of: index, asked: asked, expressions, &analysis) {
            case .shadowed(let others)?:
                findings.append(.init(position: positions[index], problem: .shadowed(by: others.map { positions[$0] })))
            case .neverApplies?: findings.append(.init(position: positions[index], problem: .neverApplies))
            case nil: asked.append(index)
            }
        }
        return findings
    }

    private func problem(
        of index: Int, asked: [Int], _ expressions: [FilterExpression], _ analysis: inout FilterAnalysis
    ) -> Problem? {
        if let same = asked.first(where: { expressions[$0].text == expressions[index].text }) {
            return .shadowed(by: [same])
        }
        guard analysis.canPass(index, withoutAnyOf: []) else { return .neverApplies }
        for other in asked where !analysis.canPass(index, withoutAnyOf: [other]) { return .shadowed(by: [other]) }
        return asked.count > 1 && !analysis.canPass(index, withoutAnyOf: asked) ? .shadowed(by: asked) : nil
    }
}
