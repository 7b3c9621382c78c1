/// Terminal colors, or none.
struct Style {
    let isColored: Bool

    /// Without colors.
    static let plain = Style(isColored: false)

    /// The style of standard output.
    static var output: Style { Style(isColored: Console.outputIsColored) }

    func green(_ text: String) -> String { paint(text, 32) }
    func red(_ text: String) -> String { paint(text, 31) }
    func yellow(_ text: String) -> String { paint(text, 33) }
    func dim(_ text: String) -> String { paint(text, 2) }

    private func paint(_ text: String, _ code: Int) -> String {
        isColored ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}
