// Arithmetic on untrusted numbers. A result that is out of range becomes the type's largest or smallest value, and does
// not trap. This is sufficient, because results are only compared with a limit or displayed.

extension FixedWidthInteger {
    /// Returns the sum, or the type's highest or lowest value if the sum is out of range.
    package func saturatingAdding(_ other: Self) -> Self {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    /// Returns the product, or the type's highest or lowest value if the product is out of range.
    package func saturatingMultiplying(by other: Self) -> Self {
        let (product, overflow) = multipliedReportingOverflow(by: other)
        return overflow ? ((self < 0) == (other < 0) ? .max : .min) : product
    }
}

extension Sequence {
    /// Returns the sum of a number for each element, or the type's highest value if the sum is out of range.
    package func saturatingSum<Number: FixedWidthInteger>(_ number: (Element) throws -> Number) rethrows -> Number {
        try reduce(0) { $0.saturatingAdding(try number($1)) }
    }
}
