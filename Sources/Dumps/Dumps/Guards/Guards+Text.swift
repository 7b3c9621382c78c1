import RemoteSettingsModel

extension Guards: Encodable {
    /// Encodes the active guards, by name.
    package func encode(to encoder: any Encoder) throws {
        try Dictionary(uniqueKeysWithValues: all.map { ($0.name.rawValue, $0.value) }).encode(to: encoder)
    }

    /// The active guards on one line.
    package var words: String {
        let words = all.map { "\($0.name.rawValue) \(VisibleText.excerpt($0.value, limit: 100))" }
        return words.isEmpty ? "none" : words.joined(separator: ", ")
    }

    private var all: [(name: Name, value: String)] {
        (keepsRecords ? [(.notEmptied, "true")] : []) + settings.filter { $0.name != .notEmptied }
    }
}
