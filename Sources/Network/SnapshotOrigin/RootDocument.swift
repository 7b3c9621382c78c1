import RemoteSettingsHTTP
import RemoteSettingsModel

/// The root document, which describes the server (Kinto's API, "server information").
///
/// It has the members that Mozilla's jobs and kinto-http read.
enum RootDocument {
    /// Returns the document.
    ///
    /// - Parameters:
    ///   - newest: the time of the newest change in any collection.
    ///   - state: the hash of the monitor's entries, which identifies the served state.
    static func json(
        _ version: APIVersion, _ address: OriginAddress, softwareVersion: String, collections: [CollectionID],
        newest: Timestamp, state: SHA256Digest
    ) -> JSONValue {
        var capabilities: [JSONValue.Member] = [
            .init(
                key: "attachments",
                value: .members([
                    "description": .string("Attachments of records, from snapshot bundles"),
                    "url": .string("https://github.com/Kinto/kinto-attachment/"),
                    "version": .string(softwareVersion), "base_url": .string(address.attachments),
                ]))
        ]
        capabilities.append(
            .init(
                key: "changes",
                value: .members([
                    "description": .string("Track modifications of records and store them"),
                    "url": .string("https://github.com/mozilla/remote-settings"),
                    "version": .string(softwareVersion),
                    "collections": .array(Set(collections.map(\.bucket)).sorted().map { .string("/buckets/\($0)") }),
                ])))
        if version == .v1 {
            capabilities.append(
                .init(
                    key: "signer",
                    value: .members([
                        "description": .string("Data is served as signed; this server does not sign or review"),
                        "url": .string("https://github.com/mozilla/remote-settings"),
                        "version": .string(softwareVersion), "to_review_enabled": .bool(false),
                        "group_check_enabled": .bool(false), "resources": .array([]),
                    ])))
        }
        // Mozilla's jobs read these members: the export to git reads `config.modified` of v1, and monitoring computes
        // the server's age from `git` of v2.
        let config = JSONValue.members(["modified": .string(newest.rfc3339)])
        let git = JSONValue.members([
            "common": .members([
                "id": .string(String(state.hex.prefix(40))), "timestamp": .count(newest.seconds),
                "datetime": .string(String(newest.rfc3339.prefix(19))),
            ])
        ])
        return .members([
            "project_name": .string("Remote Settings snapshots"), "project_version": .string(softwareVersion),
            "http_api_version": .string(version == .v1 ? "1.22" : "2.0"),
            "project_docs": .string("https://remote-settings.readthedocs.io"),
            "url": .string("\(address.url)/\(version.rawValue)/"), "config": version == .v1 ? config : nil,
            "git": version == .v2 ? git : nil,
            "settings": .members([
                "batch_max_requests": version == .v1 ? .count(25) : nil,
                "explicit_permissions": version == .v1 ? .bool(true) : nil, "readonly": .bool(true),
            ]),
            "capabilities": .object(capabilities),
        ])
    }
}
