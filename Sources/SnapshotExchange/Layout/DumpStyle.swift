import RemoteSettingsModel

/// How a project writes the JSON file of a collection: `{"data": [record…], "timestamp": N}`.
///
/// A bundle keeps records in canonical form, so what a file looked like must follow from a rule. These are the rules of
/// the projects, checked against their files.
struct DumpStyle: Hashable, Sendable {
    enum KeyOrder: Hashable, Sendable {
        /// By code point.
        case sorted
        /// The server's: by length in bytes, then by bytes, as PostgreSQL's `jsonb` has them; a record's `id` and
        /// `last_modified` last.
        case served
    }

    enum RecordOrder: Hashable, Sendable {
        case byID
        /// The one that changed last comes first.
        case newestFirst
        /// By `recordType`, then `identifier`.
        case byTypeAndIdentifier
    }

    var keys: KeyOrder
    var records: RecordOrder
    /// Spaces for each level.
    var indent = 2
    var endsWithNewline: Bool

    /// application-services' `dump-get`: serde_json's pretty form, without a line end.
    static let applicationServices = DumpStyle(keys: .sorted, records: .byID, endsWithNewline: false)

    /// Firefox's `services/settings/dumps`, as its update script writes them.
    static func firefox(_ id: CollectionID) -> DumpStyle {
        // The script has one collection that people review, and sorts it for them.
        id.name == "search-config-v2"
            ? DumpStyle(keys: .sorted, records: .byTypeAndIdentifier, endsWithNewline: true)
            : DumpStyle(keys: .served, records: .newestFirst, endsWithNewline: true)
    }
}
