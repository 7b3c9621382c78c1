/// Formats counts with their nouns, such as `1 record` and `2 records`.
package enum Counted {
    /// Returns the number and its noun.
    ///
    /// - Parameter many: the plural; `nil` for the singular with an appended `s`.
    package static func text(_ count: some BinaryInteger, _ one: String, plural many: String? = nil) -> String {
        "\(count) \(noun(count, one, plural: many))"
    }

    /// Returns only the noun, for sentences in which it does not directly follow its number.
    package static func noun(_ count: some BinaryInteger, _ one: String, plural many: String? = nil) -> String {
        count == 1 ? one : many ?? one + "s"
    }

    /// Returns a readable list of up to ten items, followed by the number of the remaining ones.
    package static func list(_ items: some Collection<some CustomStringConvertible>) -> String {
        let shown = items.prefix(10).map(\.description).joined(separator: ", ")
        return items.count > 10 ? "\(shown) and \(items.count - 10) more" : shown
    }
}
