/// The syntax tree of a regular expression. Its depth is bounded by the parser.
indirect enum PatternNode {
    case scalar(Unicode.Scalar)
    /// Any scalar of the set, or any other one. Without regard to case that is not the same as the inverted set.
    case set(ScalarSet, isInverted: Bool)
    case lineStart
    case lineEnd
    /// `\b`, or `\B` where it is not.
    case boundary(Bool)
    case group(PatternNode, capture: Int)
    case reference(Int)
    case lookahead(PatternNode, isNegative: Bool)
    case sequence([PatternNode])
    case choice([PatternNode])
    /// - captures: the groups inside, which every repetition forgets first.
    case repeated(PatternNode, from: Int, to: Int?, isLazy: Bool, captures: Range<Int>)
}
