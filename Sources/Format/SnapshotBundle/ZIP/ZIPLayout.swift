import RemoteSettingsModel

/// Signatures, sizes and codes of the ZIP format (PKWARE APPNOTE.TXT 6.3.10, sections 4.3 to 4.5).
package enum ZIPLayout {
    package static let localSignature: UInt32 = 0x0403_4B50
    package static let descriptorSignature: UInt32 = 0x0807_4B50
    package static let centralSignature: UInt32 = 0x0201_4B50
    package static let zip64EndSignature: UInt32 = 0x0606_4B50
    package static let zip64LocatorSignature: UInt32 = 0x0706_4B50
    package static let endSignature: UInt32 = 0x0605_4B50

    package static let localSize = 30
    package static let centralSize = 46
    package static let zip64EndSize = 56
    package static let zip64LocatorSize = 20
    package static let endSize = 22
    package static let descriptorSize = 16
    package static let zip64DescriptorSize = 24

    /// Bit 3 says that the checksum and sizes follow the data, bit 11 that names are UTF-8. A bundle sets no other
    /// bits.
    package static let descriptorFlag: UInt16 = 1 << 3
    package static let allowedFlags: UInt16 = 1 << 3 | 1 << 11

    package static let stored: UInt16 = 0
    package static let deflated: UInt16 = 8

    package static let unixHost: UInt8 = 3
    package static let typeMask: UInt16 = 0o170000
    package static let regularFile: UInt16 = 0o100000

    package static let zip64Extra: UInt16 = 1
}

extension RawSpan {
    /// A little-endian integer at `offset`, which must be inside the memory, as for every subscript.
    @inline(__always)
    func little<Value: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, as type: Value.Type = Value.self) -> Value {
        Value(littleEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: Value.self))
    }

    /// A big-endian word. Comparing such words compares text.
    @inline(__always)
    func bigWord(_ offset: Int) -> UInt64 {
        UInt64(bigEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
}

extension Bytes {
    /// Calls `body` with the bytes in place, as memory that integers of any size can be read from.
    func withRawSpan<Result, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withSpan { (span) throws(Failure) in
            // This is unsafe only for elements with padding between them, which bytes do not have.
            try body(unsafe span.bytes)
        }
    }
}
