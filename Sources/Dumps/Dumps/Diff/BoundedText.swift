/// A string with a maximum size in bytes. A part that does not fit is left out entirely.
package struct BoundedText {
    let limit: Int
    package private(set) var text = ""

    package init(limit: Int) {
        self.limit = limit
    }

    /// Appends a part if it fits.
    ///
    /// - Parameter reserving: the bytes that must remain free after the part.
    /// - Returns: whether the part was appended.
    @discardableResult
    package mutating func append(_ part: String, reserving room: Int = 0) -> Bool {
        guard text.utf8.count + part.utf8.count + room <= limit else { return false }
        text += part
        return true
    }

    /// Appends the last part, for which space was reserved.
    package mutating func appendLast(_ part: String) { append(part) }
}
