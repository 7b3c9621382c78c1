/// The headers of a ZIP entry (APPNOTE 4.3.7 and 4.3.12) for a regular file with mode 0644. Its time is the earliest
/// possible one, 1980-01-01 00:00.
package struct ZIPHeader {
    var version: UInt16
    var flags: UInt16 = 0
    var isStored: Bool
    /// The CRC-32 of the uncompressed bytes.
    var crc: UInt32
    var packedSize: UInt32
    var size: UInt32
    /// The name in ASCII.
    var name: [UInt8]
    var extra: [UInt8] = []

    /// Creates headers for an entry with known sizes that needs only the features of ZIP 2.0.
    package init(name: String, isStored: Bool, crc: UInt32, packedSize: UInt32, size: UInt32) {
        self.init(version: 20, isStored: isStored, crc: crc, packedSize: packedSize, size: size, name: Array(name.utf8))
    }

    init(
        version: UInt16, flags: UInt16 = 0, isStored: Bool, crc: UInt32, packedSize: UInt32, size: UInt32,
        name: [UInt8], extra: [UInt8] = []
    ) {
        self.version = version
        self.flags = flags
        self.isStored = isStored
        self.crc = crc
        self.packedSize = packedSize
        self.size = size
        self.name = name
        self.extra = extra
    }

    /// The header before the entry's data.
    package var local: [UInt8] {
        var header: [UInt8] = []
        header.little(ZIPLayout.localSignature)
        appendShared(to: &header)
        header += name
        header += extra
        return header
    }

    /// Returns the entry's record in the archive's directory.
    ///
    /// - Parameter offset: the offset of the local header.
    package func record(offset: UInt32) -> [UInt8] {
        var record: [UInt8] = []
        record.little(ZIPLayout.centralSignature)
        record.little(UInt16(ZIPLayout.unixHost) << 8 | version)
        appendShared(to: &record)
        // These bytes are the comment length, the disk number and the internal attributes.
        record += [0, 0, 0, 0, 0, 0]
        record.little(UInt32(ZIPLayout.regularFile | 0o644) << 16)
        record.little(offset)
        record += name
        record += extra
        return record
    }

    /// Returns the end record of an archive. Values that do not fit are clamped; the caller must then write a ZIP64 end
    /// record and its locator before it.
    package static func end(count: Int, directorySize: Int, directoryOffset: Int) -> [UInt8] {
        var end: [UInt8] = []
        end.little(ZIPLayout.endSignature)
        end.little(0 as UInt32)
        end.little(UInt16(clamping: count))
        end.little(UInt16(clamping: count))
        end.little(UInt32(clamping: directorySize))
        end.little(UInt32(clamping: directoryOffset))
        end.little(0 as UInt16)
        return end
    }

    private func appendShared(to header: inout [UInt8]) {
        header.little(version)
        header.little(flags)
        header.little(isStored ? ZIPLayout.stored : ZIPLayout.deflated)
        header += [0, 0, 0x21, 0]
        header.little(crc)
        header.little(packedSize)
        header.little(size)
        header.little(UInt16(name.count))
        header.little(UInt16(extra.count))
    }
}

extension [UInt8] {
    /// Appends an integer, lowest byte first.
    mutating func little<Value: FixedWidthInteger>(_ value: Value) {
        unsafe Swift.withUnsafeBytes(of: value.littleEndian) { unsafe append(contentsOf: $0) }
    }
}
