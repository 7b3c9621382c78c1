import RemoteSettingsModel

// Why a filter expression cannot be parsed or evaluated. Offsets are in bytes of UTF-8 from its start.
extension Failure {
    /// The expression's text is longer than `limit` bytes.
    package static func tooLong(bytes: Int, limit: Int) -> Self {
        Self(.overLimit, "the filter expression is \(bytes) bytes, over the limit of \(limit)")
    }

    /// The expression nests more deeply than `limit`.
    package static func tooDeep(offset: Int, limit: Int) -> Self {
        Self(.overLimit, "the filter expression is nested more than \(limit) levels deep at byte \(offset)")
    }

    /// The expression does not follow the grammar of the language.
    package static func syntax(offset: Int, expected: String, found: String) -> Self {
        Self(.malformed, "at byte \(offset) of the filter expression: expected \(expected), found \(found)")
    }

    /// The language has no transform with this name.
    static func unknownTransform(name: String, offset: Int) -> Self {
        Self(
            .malformed,
            "at byte \(offset) of the filter expression: unknown transform \(VisibleText.excerpt(name, limit: 80))")
    }

    /// A value has the wrong type for an operator.
    package static func wrongType(operator name: String, expected: String, found: String, offset: Int) -> Self {
        Self(.malformed, "at byte \(offset) of the filter expression: \(name) requires \(expected), found \(found)")
    }

    /// A number is outside the range that a transform accepts.
    static func outOfRange(transform: String, expected: String, found: String, offset: Int) -> Self {
        Self(
            .overLimit,
            "at byte \(offset) of the filter expression: \(transform) requires \(expected), found \(found)")
    }

    /// A regular expression is malformed, or uses a feature that this package does not support.
    static func invalidPattern(problem: String, offset: Int) -> Self {
        Self(
            .malformed,
            "at byte \(offset) of the filter expression: invalid regular expression: \(problem)")
    }

    /// The evaluation would need more than `limit` steps.
    static func tooMuchWork(limit: Int) -> Self {
        Self(.overLimit, "evaluating the filter expression takes more than \(limit) steps")
    }

    /// The evaluations of one read would need more than `limit` steps.
    static func tooMuchWorkInRead(limit: Int) -> Self {
        Self(.overLimit, "evaluating the collection's filters takes more than \(limit) steps")
    }

    /// The evaluation would create a string, array or object that exceeds the limit.
    package static func tooLarge(what: String, limit: Int) -> Self {
        Self(.overLimit, "evaluating the filter expression creates \(what) than the limit of \(limit)")
    }

    /// A record's `filter_expression` is not a string.
    static func notAString(found: String) -> Self {
        Self(.malformed, "filter_expression must be a string, found \(found)")
    }
}
