/// Numbers of things as people write them: `1 record`, `2 records`.
package enum Counted {
    /// - Parameter many: the plural, where it is not the singular with an `s`.
    package static func text(_ count: some BinaryInteger, _ one: String, plural many: String? = nil) -> String {
        "\(count) \(noun(count, one, plural: many))"
    }

    /// The noun alone, for texts in which it does not follow its number directly.
    package static func noun(_ count: some BinaryInteger, _ one: String, plural many: String? = nil) -> String {
        count == 1 ? one : many ?? one + "s"
    }
}
