import RemoteSettingsModel

/// A regular expression that is compiled once to search many texts.
package struct TextPattern: Sendable {
    package let text: String
    private let expression: RegularExpression

    /// Compiles a pattern.
    ///
    /// - Throws: ``Failure/invalidPattern(problem:offset:)`` if the pattern is invalid in ECMA-262 or not supported
    ///   by the engine.
    package init(_ text: String) throws(Failure) {
        self.text = text
        expression = try RegularExpression(text, flags: "")
    }

    /// Returns whether the pattern occurs in a text.
    ///
    /// - Parameter budget: the remaining work for all searches together.
    /// - Returns: `nil` if this search alone needs more than ``FilterLimits/steps``.
    /// - Throws: ``Failure/tooMuchWork(limit:)`` if all searches together need more than `budget`.
    package func occurs(in text: String, budget: inout WorkBudget) throws(Failure) -> Bool? {
        // The separate budget limits the memory of the matcher, which grows with its steps.
        var own = WorkBudget(steps: min(FilterLimits.steps, budget.left))
        let before = own.left
        var found: Bool?
        do throws(Failure) {
            try own.spend(text.utf8.count / 4)
            var matcher = RegularExpressionMatcher(expression, text)
            found = try matcher.occurs(budget: &own)
        } catch {}
        try budget.spend(before - own.left)
        return found
    }
}
