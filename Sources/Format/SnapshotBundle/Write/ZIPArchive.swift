import RemoteSettingsModel

/// A ZIP archive that is written sequentially to a file, from the first entry to the end record (APPNOTE 4.3). It is
/// not safe to use from several threads.
///
/// The output is identical to libarchive's for the same entries; the tests compare them. libarchive is not used because
/// it compresses entries sequentially, while this package compresses attachments as they are downloaded. The archive
/// contains nothing specific to the machine: no time, user, group or umask.
final class ZIPArchive {
    private struct Entry {
        let name: [UInt8]
        let size: Int
        let isStored: Bool
        let offset: Int
        /// Whether sizes are written as 64 bits. The margin is needed because deflate can make data longer, by less
        /// than a thousandth.
        var isLarge: Bool { size > ZIPArchive.most32 - 1 << 24 }
        var version: UInt16 { isLarge ? 45 : isStored ? 10 : 20 }
    }

    private static let most32 = Int(UInt32.max)
    private static let bufferSize = 256 << 10
    /// The extra fields: `UT` without a time, and `ux` with user and group 0.
    private static let extra: [UInt8] = [0x55, 0x54, 1, 0, 0, 0x75, 0x78, 11, 0, 1, 4, 0, 0, 0, 0, 4, 0, 0, 0, 0]

    private let output: OutputFile
    private var buffer: [UInt8] = []
    private var position = 0
    private var entry: Entry?
    private var packedSize = 0
    private var directory: [UInt8] = []
    private var count = 0

    init(_ output: OutputFile) {
        self.output = output
        buffer.reserveCapacity(2 * Self.bufferSize)
    }

    /// Begins an entry: a regular file of exactly `size` bytes, with mode 0644 and an ASCII name.
    func begin(_ name: String, size: Int, isStored: Bool) throws(Failure) {
        let entry = Entry(name: Array(name.utf8), size: size, isStored: isStored, offset: position)
        self.entry = entry
        packedSize = 0
        let known = isStored ? size : 0
        var extra = Self.extra
        if entry.isLarge {
            extra.little(ZIPLayout.zip64Extra)
            extra.little(16 as UInt16)
            extra.little(UInt64(size))
            extra.little(UInt64(known))
        }
        let header = ZIPHeader(
            version: entry.version, flags: ZIPLayout.descriptorFlag, isStored: isStored, crc: 0,
            packedSize: entry.isLarge ? .max : UInt32(known), size: entry.isLarge ? .max : UInt32(size),
            name: entry.name, extra: extra)
        try write(header.local)
    }

    /// Appends bytes of the entry as they are stored in the archive: deflated if the entry is deflated.
    func append(_ bytes: Span<UInt8>) throws(Failure) {
        packedSize += bytes.count
        try write(bytes)
    }

    /// Finishes the entry.
    ///
    /// - Parameter crc: the CRC-32 of the uncompressed bytes.
    func endEntry(crc: UInt32) throws(Failure) {
        guard let entry else { return }
        self.entry = nil
        var descriptor: [UInt8] = []
        descriptor.little(ZIPLayout.descriptorSignature)
        descriptor.little(crc)
        if entry.isLarge {
            descriptor.little(UInt64(packedSize))
            descriptor.little(UInt64(clamping: entry.size))
        } else {
            descriptor.little(UInt32(truncatingIfNeeded: packedSize))
            descriptor.little(UInt32(clamping: entry.size))
        }
        try write(descriptor)
        appendRecord(of: entry, crc: crc)
        count += 1
    }

    private func appendRecord(of entry: Entry, crc: UInt32) {
        var large: [UInt8] = []
        if max(entry.size, packedSize, entry.offset) > Self.most32 {
            for value in [entry.size, packedSize, entry.offset] where value >= Self.most32 {
                large.little(UInt64(value))
            }
        }
        var extra = Self.extra
        if !large.isEmpty {
            extra.little(ZIPLayout.zip64Extra)
            extra.little(UInt16(large.count))
            extra += large
        }
        let header = ZIPHeader(
            version: entry.version, flags: ZIPLayout.descriptorFlag, isStored: entry.isStored, crc: crc,
            packedSize: UInt32(clamping: packedSize), size: UInt32(clamping: entry.size), name: entry.name,
            extra: extra)
        directory += header.record(offset: UInt32(clamping: entry.offset))
    }

    /// Writes the directory and the end record.
    func close() throws(Failure) {
        let start = position
        let size = directory.count
        try write(directory)
        var end: [UInt8] = []
        if size > Self.most32 || start > Self.most32 || count > Int(UInt16.max) {
            end.little(ZIPLayout.zip64EndSignature)
            end.little(UInt64(ZIPLayout.zip64EndSize - 12))
            end.little(45 as UInt16)
            end.little(45 as UInt16)
            end.little(0 as UInt64)
            end.little(UInt64(count))
            end.little(UInt64(count))
            end.little(UInt64(size))
            end.little(UInt64(start))
            end.little(ZIPLayout.zip64LocatorSignature)
            end.little(0 as UInt32)
            end.little(UInt64(start + size))
            end.little(1 as UInt32)
        }
        end += ZIPHeader.end(count: count, directorySize: size, directoryOffset: start)
        try write(end)
        try flush()
    }

    private func write(_ bytes: [UInt8]) throws(Failure) { try write(bytes.span) }

    private func write(_ bytes: Span<UInt8>) throws(Failure) {
        position += bytes.count
        if bytes.count >= Self.bufferSize {
            try flush()
            return try output.write(bytes)
        }
        buffer.append(contentsOf: bytes)
        if buffer.count >= Self.bufferSize { try flush() }
    }

    private func flush() throws(Failure) {
        try output.write(buffer)
        buffer.removeAll(keepingCapacity: true)
    }
}
