import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// A summary of a bundle's manifest.
struct BundleSummary: Encodable {
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
                "omitted      \(Counted.text(omission.count, "attachment")) (\(omission.reason), "
                    + "\(ByteSize.text(UInt64(clamping: omission.bytes))))")
        }
        for entry in manifest.entries {
            lines.append("entry        \(entry.name), \(ByteSize.text(UInt64(clamping: entry.size))), \(entry.sha256)")
        }
        if listsAttachments {
            for file in manifest.files {
                let state = file.omitted.map { "omitted: \($0)" } ?? ByteSize.text(UInt64(clamping: file.size))
                let records = file.records.joined(separator: " ")
                lines.append("\(file.sha256)  \(state)  \(Console.visible(file.location))  \(records)")
            }
        }
        return lines.joined(separator: "\n")
    }

    func encode(to encoder: any Encoder) throws {
        let head = manifest.head
        try encoder.encode(members: [
            "bundle": name, "collection": head.collection, "timestamp": head.timestamp,
            "lastModified": head.timestamp.rfc3339, "trust": head.trust.rawValue, "records": head.records,
            "attachments": head.attachments, "attachmentBytes": total, "omitted": head.omitted, "content": content,
            "entries": manifest.entries, "files": listsAttachments ? manifest.files : nil,
        ])
    }

    /// The total size of the attachments in the bundle, in bytes. Identical files are counted once.
    private var total: UInt64 { manifest.packed.saturatingSum { UInt64(clamping: $0.size) } }
}

extension Manifest.Entry: Encodable {
    package func encode(to encoder: any Encoder) throws {
        try encoder.encode(members: ["name": name, "size": size, "sha256": sha256])
    }
}

extension Manifest.File: Encodable {
    package func encode(to encoder: any Encoder) throws {
        try encoder.encode(members: [
            "sha256": sha256, "size": size, "location": location, "records": records,
            "omitted": omitted.map { "\($0)" },
        ])
    }
}
