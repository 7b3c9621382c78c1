import RemoteSettingsModel

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

    /// Returns a line about a collection that failed. The collection's name at the start of the error
    /// is left out.
    func failure(of id: CollectionID, padded width: Int, _ error: String) -> String {
        let prefix = "\(id): "
        let text = error.utf8.starts(with: prefix.utf8) ? String(error.dropFirst(prefix.count)) : error
        return "\("\(id)".padded(to: width))  \(red("failed")): \(Console.visible(text))"
    }

    /// Returns the line of a collection in a report, and those of its notes.
    func lines<Value>(
        of id: CollectionID, padded width: Int, _ result: Result<Value, any Error>, notes: [String],
        _ text: (Value) -> String
    ) -> [String] {
        let line =
            switch result {
            case .success(let value): "\("\(id)".padded(to: width))  \(text(value))"
            case .failure(let error): failure(of: id, padded: width, "\(CommandFailure(error))")
            }
        return [line] + notes.map { "  \(yellow("note")): \(Console.visible($0))" }
    }

    private func paint(_ text: String, _ code: Int) -> String {
        isColored ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}
