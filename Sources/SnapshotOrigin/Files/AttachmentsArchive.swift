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
        var directory = ZIPFields()
        var offset = 0
        for entry in entries {
            guard offset < 0xFFFF_FFFF, entry.size < 0xFFFF_FFFF, entry.data.count < 0xFFFF_FFFF else { return nil }
            var shared = ZIPFields()
            // Version 2.0, names in ASCII, 1980-01-01 at 0:00.
            shared.append(20, 0, entry.isDeflated ? 8 : 0, 0, 0x21)
            shared.append32(entry.crc, UInt32(entry.data.count), UInt32(entry.size))
            shared.append(UInt16(entry.name.utf8.count), 0)
            var local = ZIPFields()
            local.append32(0x0403_4B50)
            local.bytes += shared.bytes + entry.name.utf8
            segments += [Bytes(local.bytes), entry.data]
            directory.append32(0x0201_4B50)
            directory.append(0x0300 | 20)
            directory.bytes += shared.bytes
            directory.append(0, 0, 0)
            directory.append32(0o100644 << 16, UInt32(offset))
            directory.bytes += entry.name.utf8
            offset += local.bytes.count + entry.data.count
        }
        guard offset < 0xFFFF_FFFF else { return nil }
        var end = ZIPFields()
        end.append32(0x0605_4B50)
        end.append(0, 0, UInt16(entries.count), UInt16(entries.count))
        end.append32(UInt32(directory.bytes.count), UInt32(offset))
        end.append(0)
        return segments + [Bytes(directory.bytes + end.bytes)]
    }
}

/// Fields of ZIP headers, in little endian (APPNOTE 4.3).
private struct ZIPFields {
    var bytes: [UInt8] = []

    mutating func append(_ values: UInt16...) {
        for value in values { bytes += [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)] }
    }

    mutating func append32(_ values: UInt32...) {
        for value in values { append(UInt16(truncatingIfNeeded: value), UInt16(truncatingIfNeeded: value >> 16)) }
    }
}
