import RemoteSettingsModel
import SnapshotBundle

/// The ZIP file with a collection's attachments, in the format of Mozilla's server.
///
/// For each record it contains `{id}.meta.json` (the record) and `{id}` (the record's file). It reuses the bytes of the
/// bundle, compressed or not, with new headers. If the bundle does not contain an attachment, the ZIP file does not
/// contain its record either.
enum AttachmentsArchive {
    private struct Entry {
        let header: ZIPHeader
        let name: String
        let data: Bytes
    }

    /// Returns the ZIP file as slices.
    ///
    /// - Returns: `nil` if the ZIP file would require ZIP64, which Mozilla's server never uses.
    /// - Throws: `Failure` if the bundle cannot be read.
    static func segments(_ collection: ServedCollection, _ files: [Manifest.File]) throws(Failure) -> [Bytes]? {
        let records = try collection.records()
        var (metas, contents): ([Entry], [Entry]) = ([], [])
        for file in files where file.omitted == nil {
            guard let packed = try collection.bundle.packedAttachment(file.sha256) else { continue }
            for id in file.records {
                guard let record = records.record(id: id) else { continue }
                let json = record.json
                guard
                    let meta = entry(
                        "\(id).meta.json", json, size: json.count, crc: crc32(of: json), isDeflated: false),
                    let content = entry(
                        id, packed.bytes, size: packed.size, crc: packed.crc, isDeflated: packed.isDeflated)
                else { return nil }
                metas.append(meta)
                contents.append(content)
            }
        }
        return archive(metas.sorted { $0.name < $1.name } + contents.sorted { $0.name < $1.name })
    }

    private static func entry(_ name: String, _ data: Bytes, size: Int, crc: UInt32, isDeflated: Bool) -> Entry? {
        guard let packedSize = UInt32(exactly: data.count), let size = UInt32(exactly: size), packedSize < .max,
            size < .max
        else { return nil }
        let header = ZIPHeader(name: name, isStored: !isDeflated, crc: crc, packedSize: packedSize, size: size)
        return Entry(header: header, name: name, data: data)
    }

    private static func archive(_ entries: [Entry]) -> [Bytes]? {
        guard entries.count < 0xFFFF else { return nil }
        var segments: [Bytes] = []
        var directory: [UInt8] = []
        var offset: UInt32 = 0
        for entry in entries {
            let local = entry.header.local
            segments += [Bytes(local), entry.data]
            directory += entry.header.record(offset: offset)
            guard let next = UInt32(exactly: Int(offset) + local.count + entry.data.count), next < .max else {
                return nil
            }
            offset = next
        }
        let end = ZIPHeader.end(count: entries.count, directorySize: directory.count, directoryOffset: Int(offset))
        return segments + [Bytes(directory + end)]
    }
}
