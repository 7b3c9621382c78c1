import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// The contents of a bundle's manifest, as text and as JSON.
struct BundleSummary {
    let manifest: Manifest
    let content: SHA256Digest
    let name: String
    let listsAttachments: Bool

    var text: String {
        let head = manifest.head
        var lines = [
            "bundle       \(name)",
            "collection   \(head.collection)",
            "timestamp    \(head.timestamp) (\(head.timestamp.rfc3339))",
            "trust        \(head.trust.rawValue)",
            "records      \(head.records)",
            "attachments  \(head.attachments) (\(ByteSize.text(total)))",
            "content      \(content)",
        ]
        for omission in manifest.omissions {
            lines.append(
                "left out     \(Counted.text(omission.count, "attachment")) (\(omission.reason), "
                    + "\(ByteSize.text(UInt64(clamping: omission.bytes))))")
        }
        for entry in manifest.entries {
            lines.append("entry        \(entry.name), \(ByteSize.text(UInt64(clamping: entry.size))), \(entry.sha256)")
        }
        if listsAttachments {
            for file in manifest.files {
                let state = file.omitted.map { "left out: \($0)" } ?? ByteSize.text(UInt64(clamping: file.size))
                let records = file.records.joined(separator: " ")
                lines.append("\(file.sha256)  \(state)  \(Console.visible(file.location))  \(records)")
            }
        }
        return lines.joined(separator: "\n")
    }

    var json: JSONValue {
        let head = manifest.head
        return .members([
            "bundle": .string(name),
            "collection": .string("\(head.collection)"),
            "timestamp": .count(head.timestamp.milliseconds),
            "lastModified": .string(head.timestamp.rfc3339),
            "trust": .string(head.trust.rawValue),
            "records": .count(head.records),
            "attachments": .count(head.attachments),
            "attachmentBytes": .count(total),
            "omitted": .count(head.omitted),
            "content": .string(content.hex),
            "entries": .array(
                manifest.entries.map { entry in
                    .members([
                        "name": .string(entry.name), "size": .count(entry.size), "sha256": .string(entry.sha256.hex),
                    ])
                }),
            "files": listsAttachments ? .array(manifest.files.map(file)) : nil,
        ])
    }

    private func file(_ file: Manifest.File) -> JSONValue {
        .members([
            "sha256": .string(file.sha256.hex), "size": .count(file.size), "location": .string(file.location),
            "records": .array(file.records.map(JSONValue.string)),
            "omitted": file.omitted.map { .string("\($0)") },
        ])
    }

    /// The size of the attachments in the bundle, in bytes. Each file counts once.
    private var total: UInt64 { manifest.packed.saturatingSum { UInt64(clamping: $0.size) } }
}
