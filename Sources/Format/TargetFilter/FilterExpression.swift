import RemoteSettingsModel

/// An expression of the filter language, which is JEXL as implemented in Mozilla's Remote Settings clients.
///
/// It is parsed once and can be evaluated many times. Evaluation uses no I/O, no clock and no mutable state.
///
///     let filter = try FilterExpression(parsing: "env.version|versionCompare('110.0a1') >= 0")
///     filter.matches(.app(version: "128.5"))  // true
package struct FilterExpression: Sendable {
    /// The original text of the expression.
    let text: String
    private let program: FilterProgram

    /// Parses an expression.
    ///
    /// - Throws: ``Failure`` if `text` is not a valid expression, is too long, or nests too deeply.
    package init(parsing text: String) throws(Failure) {
        program = try FilterParser.parse(text)
        self.text = text
    }

    /// Returns the expression's value.
    ///
    /// - Throws: ``Failure`` if a value has the wrong type for an operator, if a transform is unknown, or if the
    ///   evaluation exceeds ``FilterLimits``.
    package func evaluate(in context: FilterContext) throws(Failure) -> FilterValue {
        var budget = WorkBudget(steps: FilterLimits.steps)
        return try evaluate(in: context, budget: &budget)
    }

    /// Returns the expression's value like ``evaluate(in:)``.
    ///
    /// - Parameter budget: the remaining work for all evaluations together.
    func evaluate(in context: FilterContext, budget: inout WorkBudget) throws(Failure) -> FilterValue {
        let steps = min(FilterLimits.steps, budget.left)
        var evaluator = FilterEvaluator(program, in: context, steps: steps)
        let result = Result { () throws(Failure) in try evaluator.run() }
        try budget.spend(steps - evaluator.budget.left)
        return try result.get()
    }

    /// Returns whether the value is `true`. For any other value, and for an error, the result is `false`.
    package func matches(_ context: FilterContext) -> Bool { outcome(in: context) == .passed }

    /// Evaluates the expression like ``matches(_:)``, and returns the reason for the result.
    package func outcome(in context: FilterContext) -> FilterOutcome {
        do throws(Failure) {
            return FilterOutcome(try evaluate(in: context))
        } catch {
            return .failed(error)
        }
    }
}
