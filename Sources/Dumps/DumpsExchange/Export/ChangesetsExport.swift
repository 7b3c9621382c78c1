import RemoteSettingsModel
import SnapshotBundle

/// An export of a server's responses: for each collection, `<bucket>/<name>.json` with `{"metadata": …, "timestamp": …,
/// "changes": […]}`.
///
/// The metadata is as received. Its certificate chain is in `<name>.pem`, and attachments are in `attachments/`, named
/// after their hashes.
enum ChangesetsExport {
    static func write(_ bundle: BundleReader, into directory: ExportDirectory) throws {
        let id = bundle.head.collection
        var reader = JSONReader(try bundle.payloadText())
        try reader.beginObject()
        var records = Bytes(utf8: "[]")
        while let key = try reader.nextKey() {
            let value = try reader.skipValue()
            if key == "data" { records = value }
        }
        let metadata = try bundle.metadataText()
        try directory.write(to: "\(id.bucket)/\(id.name).json") { write in
            try write(Array("{\"metadata\":".utf8).span)
            try metadata.withSpan { try write($0) }
            try write(Array(",\"timestamp\":\(bundle.head.timestamp),\"changes\":".utf8).span)
            try records.withSpan { try write($0) }
            try write(Array("}\n".utf8).span)
        }
        if let chain = try bundle.chain() { try directory.write(chain.array, to: "\(id.bucket)/\(id.name).pem") }
        for digest in bundle.attachments where try !directory.contains("attachments/\(digest)") {
            try directory.write(to: "attachments/\(digest)") { write in
                _ = try bundle.streamAttachment(digest, to: write)
            }
        }
    }
}
