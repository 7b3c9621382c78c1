extension Duration {
    /// The duration in the largest unit of which it contains at least two, such as `36 h`.
    var rounded: String {
        let seconds = components.seconds
        if seconds >= 2 * 86_400 { return "\(seconds / 86_400) d" }
        if seconds >= 2 * 3600 { return "\(seconds / 3600) h" }
        return seconds >= 120 ? "\(seconds / 60) min" : "\(seconds) s"
    }
}

extension String {
    func padded(to width: Int) -> String {
        count >= width ? self : self + String(repeating: " ", count: width - count)
    }

    /// Returns the string without the trailing spaces from a table's last column.
    func trimmingSpaces() -> String {
        var text = self[...]
        while text.last == " " { text = text.dropLast() }
        return String(text)
    }
}
