import RemoteSettingsModel

/// A regular expression that is compiled once and searched for in many texts.
package struct TextPattern: Sendable {
    package let text: String
    private let expression: RegularExpression

    /// Compiles a pattern.
    ///
    /// - Throws: ``FilterError/invalidPattern(problem:offset:)`` if ECMA-262 does not allow the pattern, or if the
    ///   engine does not support it.
    package init(_ text: String) throws(FilterError) {
        self.text = text
        expression = try RegularExpression(text, flags: "")
    }

    /// Whether the pattern occurs in a text.
    ///
    /// - Parameter budget: the work of all searches together.
    /// - Returns: `nil` if this search alone takes more than ``FilterLimits/steps``.
    /// - Throws: ``FilterError/tooMuchWork(limit:)`` if all searches together take more than `budget`.
    package func occurs(in text: String, budget: inout WorkBudget) throws(FilterError) -> Bool? {
        // The matcher's memory grows with its steps.
        var own = WorkBudget(steps: min(FilterLimits().steps, budget.left))
        let before = own.left
        var found: Bool?
        do throws(FilterError) {
            try own.spend(text.utf8.count / 4)
            var matcher = RegularExpressionMatcher(expression, text)
            found = try matcher.occurs(budget: &own)
        } catch {}
        try budget.spend(before - own.left)
        return found
    }
}
