import RemoteSettingsModel

/// The few fields that help people tell records apart.
struct RecordSummary {
    static let fieldCount = 3
    static let valueLength = 80

    let fields: [(key: String, value: String)]
    let lastModified: Timestamp?
    let attachment: RecordAttachment?

    init(_ record: Record) {
        var named: [(rank: Int, key: String, value: String)] = []
        var lastModified: Timestamp?
        if case .object(let members) = try? JSONValue(parsing: record.json) {
            for member in members {
                if member.key == "last_modified" {
                    lastModified = member.value.number?.uint64.map(Timestamp.init(milliseconds:))
                }
                guard !Self.leftOut.contains(member.key), let value = Self.text(member.value) else { continue }
                named.append((Self.telling.firstIndex(of: member.key) ?? Self.telling.count, member.key, value))
            }
        }
        // The sort is stable, so other fields remain in the order of the record.
        fields = named.sorted { $0.rank < $1.rank }.prefix(Self.fieldCount).map { ($0.key, $0.value) }
        self.lastModified = lastModified
        attachment = try? record.attachment()
    }

    private static let leftOut: Set = ["id", "last_modified", "schema", "attachment"]
    private static let telling = [
        "name", "title", "identifier", "label", "slug", "subject", "subjectDN", "host", "domain", "url",
    ]

    private static func text(_ value: JSONValue) -> String? {
        switch value {
        case .string(let text): text.isEmpty ? nil : shortened(text)
        case .number(let number): shortened(PlainNumber.shown(number))
        case .bool(let bool): bool ? "true" : "false"
        case .array(let elements):
            elements.isEmpty ? nil : shortened(elements.prefix(6).compactMap(\.string).joined(separator: ", "))
        case .null, .object: nil
        }
    }

    private static func shortened(_ text: String) -> String? {
        let line = text.prefix(valueLength + 1)
        guard !line.isEmpty else { return nil }
        return line.count > valueLength ? line.dropLast() + "…" : String(line)
    }
}
