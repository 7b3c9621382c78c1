import Deflate
import RemoteSettingsModel
import SnapshotBundle

/// The zip of a collection's attachments, as the server makes it: for each record `{id}.meta.json`, the record, and
/// `{id}`, its file.
///
/// It is put together from what the bundle has in place, compressed or not; only headers are written. Attachments that the
/// bundle lacks are left out, with their records.
enum AttachmentsArchive {
    private struct Entry {
        var name: String
        var crc: UInt32
        var data: Bytes
        var size: Int
        var isDeflated: Bool
    }

    /// - Returns: `nil` where the archive would need ZIP64, which the server's never does.
    /// - Throws: `BundleError` where the bundle cannot be read.
    static func segments(_ collection: ServedCollection, _ files: [Manifest.File]) throws(BundleError) -> [Bytes]? {
        let records = try collection.records()
        var (metas, contents): ([Entry], [Entry]) = ([], [])
        for file in files where file.omitted == nil {
            guard let packed = try collection.bundle.packedAttachment(file.sha256) else { continue }
            for id in file.records {
                guard let record = records.record(id: id) else { continue }
                metas.append(
                    Entry(
                        name: "\(id).meta.json", crc: crc32(of: record.json), data: record.json,
                        size: record.json.count, isDeflated: false))
                contents.append(
                    Entry(
                        name: id, crc: packed.crc, data: packed.bytes, size: packed.size,
                        isDeflated: packed.isDeflated))
            }
        }
        return archive(metas.sorted { $0.name < $1.name } + contents.sorted { $0.name < $1.name })
    }

    private static func archive(_ entries: [Entry]) -> [Bytes]? {
        guard entries.count < 0xFFFF else { return nil }
        var segments: [Bytes] = []
        var directory: [UInt8] = []
        var offset = 0
        for entry in entries {
            guard offset < 0xFFFF_FFFF, entry.size < 0xFFFF_FFFF, entry.data.count < 0xFFFF_FFFF else { return nil }
            let fields = fields(entry)
            var local: [UInt8] = []
            local.little(ZIPLayout.localSignature)
            local += fields + entry.name.utf8
            segments += [Bytes(local), entry.data]
            directory.little(ZIPLayout.centralSignature)
            directory.little(UInt16(ZIPLayout.unixHost) << 8 | Self.version)
            directory += fields
            // Comment, disk and internal attributes.
            directory += [0, 0, 0, 0, 0, 0]
            directory.little(UInt32(ZIPLayout.regularFile | 0o644) << 16)
            directory.little(UInt32(offset))
            directory += entry.name.utf8
            offset += local.count + entry.data.count
        }
        guard offset < 0xFFFF_FFFF else { return nil }
        var end: [UInt8] = []
        end.little(ZIPLayout.endSignature)
        end.little(0 as UInt32)
        end.little(UInt16(entries.count))
        end.little(UInt16(entries.count))
        end.little(UInt32(directory.count))
        end.little(UInt32(offset))
        end.little(0 as UInt16)
        return segments + [Bytes(directory + end)]
    }

    /// 2.0: deflate, and nothing newer.
    private static let version: UInt16 = 20

    /// The fields that an entry's two headers have in common; its time is 1980-01-01 00:00.
    private static func fields(_ entry: Entry) -> [UInt8] {
        var fields: [UInt8] = []
        fields.little(version)
        // Names are ASCII, and sizes are known.
        fields.little(0 as UInt16)
        fields.little(entry.isDeflated ? ZIPLayout.deflated : ZIPLayout.stored)
        fields += [0, 0, 0x21, 0]
        fields.little(entry.crc)
        fields.little(UInt32(entry.data.count))
        fields.little(UInt32(entry.size))
        fields.little(UInt16(entry.name.utf8.count))
        fields.little(0 as UInt16)
        return fields
    }
}
