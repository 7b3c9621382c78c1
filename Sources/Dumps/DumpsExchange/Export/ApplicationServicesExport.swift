import RemoteSettingsModel

/// An export in the layout of the `dumps` directory of application-services.
///
/// Each collection has `<bucket>/<name>.json` and `.timestamp`. Each attachment has
/// `<bucket>/attachments/<name>/<record>` and `.meta.json`. These files are compiled into the client. The timestamp is
/// in a separate file, so that the client can compare states without parsing records.
enum ApplicationServicesExport {
    static func write(_ collection: ExportedCollection, into directory: ExportDirectory) throws {
        let id = collection.id
        try directory.write(collection.text(.applicationServices), to: "\(id.bucket)/\(id.name).json")
        try directory.write(Array("\(collection.timestamp)".utf8), to: "\(id.bucket)/\(id.name).timestamp")
        let folder = "\(id.bucket)/attachments/\(id.name)"
        directory.own(folder)
        for (entry, attachment) in collection.attached {
            let name = "\(folder)/\(entry.id)"
            guard try collection.put(attachment, as: name, into: directory) else { continue }
            try directory.write(sidecar(attachment), to: "\(name).meta.json")
        }
    }

    private static func sidecar(_ attachment: RecordAttachment) -> [UInt8] {
        let members: [JSONValue.Member] = [
            .init(key: "location", value: .string(attachment.location)),
            .init(key: "hash", value: .string(attachment.hash.hex)),
            .init(key: "size", value: .number(JSONNumber(attachment.size))),
        ]
        return DumpText.record(.object(members), keys: .sorted, indent: 2)
    }
}
