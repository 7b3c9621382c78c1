/// The limits on one filter expression, from its text to its value.
///
/// An expression that goes over one of them is an error, which excludes its record.
public struct FilterLimits: Sendable, Hashable {
    /// An expression's text, in bytes of UTF-8.
    public var expressionBytes = 16 << 10
    /// Parentheses, brackets, braces, arguments and branches of `?:` inside each other.
    public var nesting = 32
    /// The work of one evaluation, in steps: an operation, an element looked at, 16 bytes of text, or a step of a
    /// regular expression each cost one.
    public var steps = 200_000
    /// Any one text that an evaluation makes, in bytes of UTF-8.
    public var textBytes = 64 << 10
    /// Any one array or object that an evaluation makes, in elements.
    public var elements = 10_000
    /// A regular expression, in Unicode scalars.
    public var patternScalars = 1000
    /// A compiled regular expression, in instructions; bounded repetitions such as `a{2,5}` are written out.
    public var patternInstructions = 5000

    public init() {}
}
