import RemoteSettingsModel

/// Why a filter expression has no value.
///
/// Offsets are in bytes of UTF-8 from the start of the expression.
package enum FilterError: Error, Hashable, Sendable {
    /// The expression's text is longer than `limit` bytes.
    case tooLong(bytes: Int, limit: Int)
    /// The expression nests more deeply than `limit`.
    case tooDeep(offset: Int, limit: Int)
    /// The expression is not in the language.
    case syntax(offset: Int, expected: String, found: String)
    /// The language does not have a transform of this name.
    case unknownTransform(name: String, offset: Int)
    /// A value has the wrong type for an operator.
    case wrongType(operator: String, expected: String, found: String, offset: Int)
    /// A number is outside the range that a transform accepts.
    case outOfRange(transform: String, expected: String, found: String, offset: Int)
    /// A regular expression is malformed, or uses a feature that this package does not support.
    case invalidPattern(problem: String, offset: Int)
    /// The evaluation takes more than `limit` steps.
    case tooMuchWork(limit: Int)
    /// The evaluation would create a string, array or object that exceeds the limit.
    case tooLarge(what: String, limit: Int)
    /// A record's `filter_expression` is not a string.
    case notAString(found: String)
}

extension FilterError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .tooLong(let bytes, let limit):
            "the filter expression has \(bytes) bytes; expected at most \(limit)"
        case .tooDeep(let offset, let limit):
            "the filter expression nests more than \(limit) levels deep at byte \(offset)"
        case .syntax(let offset, let expected, let found):
            "at byte \(offset) of the filter expression: expected \(expected), found \(found)"
        case .unknownTransform(let name, let offset):
            "at byte \(offset) of the filter expression: there is no transform \(VisibleText.excerpt(name, limit: 80))"
        case .wrongType(let name, let expected, let found, let offset):
            "at byte \(offset) of the filter expression: \(name) requires \(expected), found \(found)"
        case .outOfRange(let transform, let expected, let found, let offset):
            "at byte \(offset) of the filter expression: \(transform) requires \(expected), found \(found)"
        case .invalidPattern(let problem, let offset):
            "at byte \(offset) of the filter expression: the regular expression cannot be used: \(problem)"
        case .tooMuchWork(let limit):
            "evaluating the filter expression takes more than \(limit) steps"
        case .tooLarge(let what, let limit):
            "evaluating the filter expression makes \(what) than the limit of \(limit)"
        case .notAString(let found):
            "filter_expression: expected a string, found \(found)"
        }
    }
}
