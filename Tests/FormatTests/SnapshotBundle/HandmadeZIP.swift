import Foundation
import RemoteSettingsModel
import SnapshotBundle

/// A ZIP file built byte by byte, so that any of its fields can be wrong.
struct HandmadeZIP {
    struct Entry {
        var name: String
        /// The bytes in the file, compressed if the method requires it.
        var data: [UInt8]
        var method: UInt16 = 0
        var flags: UInt16 = 0
        var crc: UInt32
        var size: Int
        var mode: UInt16 = 0o100644
        var host: UInt8 = 3
        var comment: [UInt8] = []
        /// The version needed to extract, in the directory and in the local header.
        var version: UInt16 = 20
        var localVersion: UInt16 = 20
        /// Extra fields, in the directory and in the local header.
        var extra: [UInt8] = []
        var localExtra: [UInt8] = []
        var hasDescriptor = false
        var isZIP64 = false
        /// Values of the local header, if they differ from the directory.
        var localName: String?
        var localMethod: UInt16?
        var localSize: UInt32?
        /// A wrong offset in the directory.
        var offset: Int?
        /// A wrong compressed size in the directory.
        var directoryPackedSize: UInt32?
        /// Bytes between this entry and the next.
        var gap: [UInt8] = []

        init(_ name: String, _ data: [UInt8]) {
            self.name = name
            self.data = data
            crc = crc32(of: Bytes(data))
            size = data.count
        }
    }

    var entries: [Entry] = []
    var comment: [UInt8] = []
    var trailing: [UInt8] = []
    var count: Int?
    var isZIP64 = false

    /// The entries of `fixture`'s bundle, all stored.
    init(_ fixture: Fixture) throws {
        let reader = try BundleReader(bytes: Bytes(fixture.bundle()), name: "fixture")
        entries = [
            Entry("manifest.json", try reader.manifestText().array),
            Entry("records.json", try reader.payloadText().array),
            Entry("metadata.json", try reader.metadataText().array),
        ]
        if let chain = try reader.chain() { entries.append(Entry("chain.pem", chain.array)) }
        for hash in reader.attachments {
            entries.append(Entry("attachments/\(hash)", try reader.attachment(hash)?.array ?? []))
        }
    }

    init(entries: [Entry]) { self.entries = entries }

    var bytes: [UInt8] {
        var file: [UInt8] = []
        var directory: [UInt8] = []
        for entry in entries {
            let offset = file.count
            let flags = entry.flags | (entry.hasDescriptor ? 8 : 0)
            let (packed, size) = (UInt32(truncatingIfNeeded: entry.data.count), UInt32(truncatingIfNeeded: entry.size))
            let localName = Array((entry.localName ?? entry.name).utf8)
            file += little(0x0403_4B50 as UInt32) + little(entry.localVersion) + little(flags)
            file += little(entry.localMethod ?? entry.method) + little(0 as UInt32)
            file += little(entry.hasDescriptor ? 0 : entry.crc)
            file += little(entry.hasDescriptor ? 0 : packed)
            file += little(entry.hasDescriptor ? 0 : entry.localSize ?? size)
            file += little(UInt16(localName.count)) + little(UInt16(entry.localExtra.count))
            file += localName + entry.localExtra + entry.data
            if entry.hasDescriptor {
                file += little(0x0807_4B50 as UInt32) + little(entry.crc) + little(packed) + little(size)
            }
            file += entry.gap

            var extra = entry.extra
            if entry.isZIP64 {
                extra += little(1 as UInt16) + little(24 as UInt16) + little(UInt64(entry.size))
                extra += little(UInt64(entry.data.count)) + little(UInt64(entry.offset ?? offset))
            }
            directory += little(0x0201_4B50 as UInt32) + [20, entry.host] + little(entry.version) + little(flags)
            directory += little(entry.method) + little(0 as UInt32) + little(entry.crc)
            directory += little(entry.isZIP64 ? .max : entry.directoryPackedSize ?? packed)
            directory += little(entry.isZIP64 ? .max : size)
            directory += little(UInt16(entry.name.utf8.count)) + little(UInt16(extra.count))
            directory += little(UInt16(entry.comment.count)) + little(0 as UInt32) + little(0 as UInt16)
            directory += little(entry.mode)
            directory += little(entry.isZIP64 ? .max : UInt32(truncatingIfNeeded: entry.offset ?? offset))
            directory += Array(entry.name.utf8) + extra + entry.comment
        }
        let start = file.count
        file += directory
        let count = count ?? entries.count
        if isZIP64 {
            let record = file.count
            file += little(0x0606_4B50 as UInt32) + little(44 as UInt64) + little(45 as UInt16) + little(45 as UInt16)
            file += little(0 as UInt64) + little(UInt64(count)) + little(UInt64(count))
            file += little(UInt64(directory.count)) + little(UInt64(start))
            file += little(0x0706_4B50 as UInt32) + little(0 as UInt32) + little(UInt64(record)) + little(1 as UInt32)
        }
        file += little(0x0605_4B50 as UInt32) + little(0 as UInt32)
        file += little(isZIP64 ? .max : UInt16(count)) + little(isZIP64 ? .max : UInt16(count))
        file += little(isZIP64 ? .max : UInt32(directory.count)) + little(isZIP64 ? .max : UInt32(start))
        return file + little(UInt16(comment.count)) + comment + trailing
    }
}

func little<Value: FixedWidthInteger>(_ value: Value) -> [UInt8] {
    (0..<Value.bitWidth / 8).map { UInt8(truncatingIfNeeded: value >> Value($0 * 8)) }
}
