import RemoteSettingsModel

extension LockFile {
    /// The text of the lock file: ASCII JSON, indented by two spaces, with a trailing line feed. Collections are
    /// sorted, and members have a fixed order, so the same contents always give the same bytes.
    package var text: [UInt8] { JSONText.text(json, .init(indent: 2, strings: .ascii)) + [UInt8(ascii: "\n")] }

    var json: JSONValue {
        let entries = collections.sorted { $0.key < $1.key }
            .map { id, entry in JSONValue.Member(key: "\(id)", value: entry.json) }
        return .members([
            "version": .count(Self.version),
            "collections": .object(entries),
        ])
    }
}

extension LockFile.Collection {
    /// The entry as JSON for the lock file.
    package var json: JSONValue {
        .members([
            "server": .string(server),
            "timestamp": .count(timestamp.milliseconds),
            "lastModified": .string(timestamp.rfc3339),
            "records": .count(records),
            "attachments": .count(attachments),
            "attachmentRule": .string(attachmentRule),
            "omitted": .array(
                omitted.map { omission in
                    .members([
                        "reason": .string(omission.reason.word), "count": .count(omission.count),
                        "bytes": .count(omission.bytes),
                    ])
                }),
            "content": .string(content.hex),
            "bundle": .members([
                "path": .string(bundle.path), "size": .count(bundle.size), "sha256": .string(bundle.sha256.hex),
            ]),
            "trust": trustJSON,
            "accepted": accepted.isEmpty ? nil : .array(accepted.map(JSONValue.string)),
        ])
    }

    private var trustJSON: JSONValue {
        guard case .signed(let verdict) = trust else { return .string(trust.kind.rawValue) }
        return .members([
            "signed": .members([
                "signer": .string(verdict.signer), "root": .string(verdict.root.hex),
                "chainNotAfter": .string(verdict.chainNotAfter.rfc3339),
                "verifiedAt": .string(verdict.verifiedAt.rfc3339),
            ])
        ])
    }
}
