import RemoteSettingsModel

/// Signatures, sizes and codes of the ZIP format (PKWARE APPNOTE.TXT 6.3.10, sections 4.3 to 4.5).
enum ZIPLayout {
    static let localSignature: UInt32 = 0x0403_4B50
    static let descriptorSignature: UInt32 = 0x0807_4B50
    static let centralSignature: UInt32 = 0x0201_4B50
    static let zip64EndSignature: UInt32 = 0x0606_4B50
    static let zip64LocatorSignature: UInt32 = 0x0706_4B50
    static let endSignature: UInt32 = 0x0605_4B50

    static let localSize = 30
    static let centralSize = 46
    static let zip64EndSize = 56
    static let zip64LocatorSize = 20
    static let endSize = 22
    /// The size of the end of a file that says where the directory is.
    static let mostEnd = zip64EndSize + zip64LocatorSize + endSize
    static let descriptorSize = 16
    static let zip64DescriptorSize = 24

    /// Bit 3 means that the checksum and sizes follow the data; bit 11 means that names are UTF-8. A bundle sets no
    /// other bits.
    static let descriptorFlag: UInt16 = 1 << 3
    static let allowedFlags: UInt16 = 1 << 3 | 1 << 11

    static let stored: UInt16 = 0
    static let deflated: UInt16 = 8

    static let unixHost: UInt8 = 3
    static let typeMask: UInt16 = 0o170000
    static let regularFile: UInt16 = 0o100000

    static let zip64Extra: UInt16 = 1
    /// `UT`, the time.
    static let timeExtra: UInt16 = 0x5455
    /// `ux`, the user and group.
    static let ownerExtra: UInt16 = 0x7875

    /// The highest version of the format that an entry may require: 4.5, for ZIP64. Other readers skip entries that
    /// require more than they support.
    static let mostVersion: UInt16 = 45
}

extension RawSpan {
    /// Reads a little-endian integer at `offset`. It traps if the offset is out of bounds.
    @inline(__always)
    func little<Value: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, as type: Value.Type = Value.self) -> Value {
        Value(littleEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: Value.self))
    }

    /// Reads a big-endian word. Comparing such words as numbers gives the order of the bytes as text.
    @inline(__always)
    func bigWord(_ offset: Int) -> UInt64 {
        UInt64(bigEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
}

extension Bytes {
    /// Calls `body` with the bytes, without copying them, as memory from which it can read integers of any size.
    func withRawSpan<Result, Failure: Error>(_ body: (RawSpan) throws(Failure) -> Result) throws(Failure) -> Result {
        try withSpan { (span) throws(Failure) in
            // `span.bytes` is unsafe only for elements with padding, which bytes do not have.
            try body(unsafe span.bytes)
        }
    }
}
