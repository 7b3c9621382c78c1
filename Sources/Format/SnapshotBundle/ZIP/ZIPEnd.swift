import RemoteSettingsModel

/// The end record of a ZIP file: the position of its directory and the number of entries (APPNOTE 4.3.14 to 4.3.16).
///
/// The end record must be the last part of a bundle, without a comment. Only the ZIP64 record and its locator may be
/// between the directory and the end record, and only if they are necessary. Such a file has only one interpretation.
struct ZIPEnd {
    let directory: Range<Int>
    let count: Int

    init(_ raw: RawSpan, file: String) throws(Failure) {
        func failure(_ problem: String) -> Failure {
            Failure(.malformed, file: file, found: problem)
        }
        let end = raw.byteCount - ZIPLayout.endSize
        guard end >= 0 else { throw failure("not a bundle: the file is only \(raw.byteCount) bytes") }
        guard raw.little(end) == ZIPLayout.endSignature, raw.little(end + 20, as: UInt16.self) == 0 else {
            throw failure(
                "no ZIP end record at the end of the file: the file is truncated, has extra bytes at the end, or is "
                    + "not a bundle")
        }
        let disks: (UInt16, UInt16) = (raw.little(end + 4), raw.little(end + 6))
        let counts: (UInt16, UInt16) = (raw.little(end + 8), raw.little(end + 10))
        let size: UInt32 = raw.little(end + 12)
        let offset: UInt32 = raw.little(end + 16)

        let start: Int?
        let length: Int?
        let count: Int?
        let directoryEnd: Int
        // A maximum value does not prove that there is a ZIP64 record, because exactly 65,535 entries are possible
        // without one.
        let isFull = counts.1 == .max || size == .max || offset == .max
        let locatorStart = end - ZIPLayout.zip64LocatorSize
        if isFull, locatorStart >= 0, raw.little(locatorStart) == ZIPLayout.zip64LocatorSignature {
            directoryEnd = locatorStart - ZIPLayout.zip64EndSize
            guard directoryEnd >= 0,
                raw.little(directoryEnd) == ZIPLayout.zip64EndSignature,
                raw.little(directoryEnd + 4, as: UInt64.self) == UInt64(ZIPLayout.zip64EndSize - 12),
                raw.little(directoryEnd + 16, as: UInt32.self) == 0,
                raw.little(directoryEnd + 20, as: UInt32.self) == 0,
                raw.little(directoryEnd + 24, as: UInt64.self) == raw.little(directoryEnd + 32, as: UInt64.self)
            else { throw failure("the ZIP64 end record is missing or invalid") }
            guard raw.little(locatorStart + 8, as: UInt64.self) == UInt64(directoryEnd) else {
                throw failure("the ZIP64 locator does not point to the ZIP64 end record")
            }
            count = Int(exactly: raw.little(directoryEnd + 32, as: UInt64.self))
            length = Int(exactly: raw.little(directoryEnd + 40, as: UInt64.self))
            start = Int(exactly: raw.little(directoryEnd + 48, as: UInt64.self))
        } else {
            guard disks == (0, 0), counts.0 == counts.1 else { throw failure("multi-part archives are not supported") }
            directoryEnd = end
            (start, length, count) = (Int(exactly: offset), Int(exactly: size), Int(counts.1))
        }
        guard let start, let length, let count, start <= directoryEnd, length == directoryEnd - start,
            count <= length / ZIPLayout.centralSize
        else { throw failure("the central directory does not end where the end record begins") }
        directory = start..<directoryEnd
        self.count = count
    }
}
