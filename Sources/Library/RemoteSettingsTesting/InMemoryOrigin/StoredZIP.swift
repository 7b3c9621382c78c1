import RemoteSettingsModel

/// A writer of ZIP files with uncompressed entries (APPNOTE 4.3), in the simplest form that readers accept.
enum StoredZIP {
    static func bytes(_ entries: [(name: String, content: [UInt8])]) -> [UInt8] {
        var (file, directory): ([UInt8], [UInt8]) = ([], [])
        for (name, content) in entries {
            let offset = file.count
            // Version 2.0, no flags, no compression, and the time 1980-01-01 00:00.
            var shared = little(20, 0, 0, 0, 0x21)
            shared += little32(checksum(content), UInt32(content.count), UInt32(content.count))
            shared += little(UInt16(name.utf8.count), 0)
            file += little32(0x0403_4B50) + shared + Array(name.utf8) + content
            directory += little32(0x0201_4B50) + little(0x0300 | 20) + shared + little(0, 0, 0)
            directory += little32(0o100644 << 16, UInt32(offset)) + Array(name.utf8)
        }
        let count = UInt16(entries.count)
        let end = little32(0x0605_4B50) + little(0, 0, count, count)
        return file + directory + end + little32(UInt32(directory.count), UInt32(file.count)) + little(0)
    }

    private static func checksum(_ content: [UInt8]) -> UInt32 { crc32(of: content.span, continuing: 0) }

    private static func little(_ values: UInt16...) -> [UInt8] {
        values.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
    }

    private static func little32(_ values: UInt32...) -> [UInt8] {
        values.flatMap { little(UInt16(truncatingIfNeeded: $0), UInt16(truncatingIfNeeded: $0 >> 16)) }
    }
}
