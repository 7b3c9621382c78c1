import RemoteSettingsModel

/// The root document, in which a server describes itself (Kinto's API, "server information").
enum RootDocument {
    static func json(
        _ version: APIVersion, _ address: OriginAddress, softwareVersion: String, collections: [CollectionID]
    ) -> JSONValue {
        let root = "\(address.url)/\(version.rawValue)/"
        let buckets = Set(collections.map(\.bucket)).sorted().map { JSONValue.string("/buckets/\($0)") }
        return object([
            ("project_name", .string("Remote Settings snapshots")),
            ("project_version", .string(softwareVersion)),
            ("http_api_version", .string(version == .v1 ? "1.22" : "2.0")),
            ("project_docs", .string("https://remote-settings.readthedocs.io")),
            ("url", .string(root)),
            ("settings", object([("readonly", .bool(true))])),
            (
                "capabilities",
                object([
                    (
                        "attachments",
                        object([
                            ("description", .string("Attachments of records, from snapshot bundles")),
                            ("url", .string("https://github.com/Kinto/kinto-attachment/")),
                            ("version", .string(softwareVersion)),
                            ("base_url", .string(address.attachments)),
                        ])
                    ),
                    (
                        "changes",
                        object([
                            ("description", .string("Track modifications of records and store them")),
                            ("url", .string("https://github.com/mozilla/remote-settings")),
                            ("version", .string(softwareVersion)),
                            ("collections", .array(buckets)),
                        ])
                    ),
                ])
            ),
        ])
    }

    private static func object(_ members: [(String, JSONValue)]) -> JSONValue {
        .object(members.map { JSONValue.Member(key: $0.0, value: $0.1) })
    }
}
