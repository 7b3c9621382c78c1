import RemoteSettingsModel

/// The formatting of a project's JSON files of collections: `{"data": [record…], "timestamp": N}`.
///
/// A bundle stores records in canonical form, so an export must recreate the original formatting of a file. The styles
/// here were checked against the projects' files.
struct DumpStyle: Hashable, Sendable {
    enum KeyOrder: Hashable, Sendable {
        /// Members are sorted by code point.
        case sorted
        /// Members are in the server's order: by length in bytes, then by bytes, like PostgreSQL's `jsonb`. A record's
        /// `id` and `last_modified` come last.
        case served
    }

    enum RecordOrder: Hashable, Sendable {
        case byID
        /// The most recently changed record comes first.
        case newestFirst
        /// Records are sorted by `recordType`, then by `identifier`.
        case byTypeAndIdentifier
    }

    var keys: KeyOrder
    var records: RecordOrder
    /// The number of spaces per level.
    var indent = 2
    var endsWithNewline: Bool

    /// The style of application-services' `dump-get`: serde_json's pretty form, without a newline at the end.
    static let applicationServices = DumpStyle(keys: .sorted, records: .byID, endsWithNewline: false)

    /// Returns the style of Firefox's `services/settings/dumps`, as written by Firefox's update script since version
    /// 153. Files that have not changed since an earlier version have members in the server's order.
    static func firefox(_ id: CollectionID) -> DumpStyle {
        // People review this collection, so Firefox's script also sorts its records.
        DumpStyle(
            keys: .sorted, records: id.name == "search-config-v2" ? .byTypeAndIdentifier : .newestFirst,
            endsWithNewline: true)
    }
}

/// Generated metadata for a collection that was imported without metadata.
enum DumpMetadata {
    /// Creates the metadata.
    ///
    /// - Parameter style: the style of the file, if it differs from its project's style.
    static func make(_ id: CollectionID, _ style: DumpStyle?) -> JSONValue {
        var members = [
            JSONValue.Member(key: "bucket", value: .string(id.bucket)),
            JSONValue.Member(key: "id", value: .string(id.name)),
        ]
        if let style {
            let layout: [JSONValue.Member] = [
                .init(key: "indent", value: .number(JSONNumber(style.indent))),
                .init(key: "newline", value: .bool(style.endsWithNewline)),
            ]
            members.append(.init(key: "layout", value: .object(layout)))
        }
        return .object(members)
    }

    /// Returns the project's style with the indentation and final newline recorded in the metadata.
    static func style(_ metadata: JSONValue, of style: DumpStyle) -> DumpStyle {
        guard let layout = metadata["layout"], let indent = layout["indent"]?.number?.uint64, indent <= 16,
            let newline = layout["newline"]?.bool
        else { return style }
        var own = style
        own.indent = Int(indent)
        own.endsWithNewline = newline
        return own
    }
}

extension DumpStyle {
    /// Returns `style` with the indentation and final newline of a file's content; `nil` if they are the same.
    static func seen(in text: Bytes, of style: DumpStyle) -> DumpStyle? {
        var own = style
        text.withSpan { span in
            own.endsWithNewline = span.count > 0 && span[span.count - 1] == UInt8(ascii: "\n")
            var indent = 0
            while indent + 2 < span.count, indent < 16, span[1] == UInt8(ascii: "\n"),
                span[indent + 2] == UInt8(ascii: " ")
            { indent += 1 }
            own.indent = indent
        }
        return own == style ? nil : own
    }
}
