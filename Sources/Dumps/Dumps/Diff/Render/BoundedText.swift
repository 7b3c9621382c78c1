/// A text with a limit of bytes. A part that does not fit is left out as a whole.
package struct BoundedText {
    let limit: Int
    package private(set) var text = ""

    package init(limit: Int) {
        self.limit = limit
    }

    /// Appends a part if there is room for it.
    ///
    /// - Parameter reserving: the bytes that must stay free after the part.
    /// - Returns: whether there was room for the part.
    @discardableResult
    package mutating func append(_ part: String, reserving room: Int = 0) -> Bool {
        guard text.utf8.count + part.utf8.count + room <= limit else { return false }
        text += part
        return true
    }

    /// Appends the end of the text, for which room was reserved.
    package mutating func appendLast(_ part: String) { append(part) }
}
