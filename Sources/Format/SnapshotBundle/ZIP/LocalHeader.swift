import RemoteSettingsModel

/// The header before an entry's data (APPNOTE 4.3.7), and the descriptor after it (4.3.9).
///
/// Streaming readers use these, and seeking readers use the ZIP directory, so both must contain the same values.
enum LocalHeader {
    /// Returns the range of an entry's data.
    ///
    /// - Parameter end: the start of the next entry or of the directory.
    static func data(of entry: ZIPEntry, in raw: RawSpan, end: Int, file: String) throws(Failure) -> Range<Int> {
        func failure(_ problem: String) -> Failure {
            Failure(.malformed, file: file, entry: ZIPEntry.text(raw, entry.name), found: problem)
        }
        let start = entry.headerOffset
        guard end - start >= ZIPLayout.localSize, raw.little(start) == ZIPLayout.localSignature else {
            throw failure("the local header at byte \(start) is missing")
        }
        let nameLength = Int(raw.little(start + 26, as: UInt16.self))
        let extraLength = Int(raw.little(start + 28, as: UInt16.self))
        let nameStart = start + ZIPLayout.localSize
        let dataStart = nameStart + nameLength + extraLength
        guard dataStart <= end, entry.compressedSize <= end - dataStart else {
            throw failure("the entry's \(entry.compressedSize) bytes of data extend past byte \(end)")
        }
        guard nameLength == entry.name.count,
            raw.extracting(nameStart..<nameStart + nameLength).isEqual(to: raw.extracting(entry.name))
        else {
            throw failure(
                "the local header has a different name than the central directory: "
                    + "\"\(ZIPEntry.text(raw, nameStart..<nameStart + nameLength))\"")
        }
        guard raw.little(start + 6) == entry.flags, raw.little(start + 8) == entry.method else {
            throw failure("the local header has different flags or a different method than the central directory")
        }
        guard raw.little(start + 4, as: UInt16.self) <= ZIPLayout.mostVersion else {
            throw failure("the local header requires a later version of the ZIP format")
        }
        let crc: UInt32 = raw.little(start + 14)
        let sizes: (UInt32, UInt32) = (raw.little(start + 18), raw.little(start + 22))
        guard var large = ZIP64Extra(raw, in: nameStart + nameLength..<dataStart) else {
            throw failure(ZIP64Extra.problem)
        }
        func agrees(_ value: UInt32, _ size: Int) -> Bool {
            // A value is 0 if a descriptor follows, and all ones if the real value is in a ZIP64 field.
            let found = value == .max ? large.next(raw) : Int(exactly: value)
            return found == size || (entry.usesDescriptor && found == 0)
        }
        // The ZIP64 field has the size before the compressed size (APPNOTE 4.5.3).
        guard crc == entry.crc || (entry.usesDescriptor && crc == 0), agrees(sizes.1, entry.size),
            agrees(sizes.0, entry.compressedSize)
        else { throw failure("the local header has a different checksum or size than the central directory") }
        return dataStart..<dataStart + entry.compressedSize  // bounded: by the file, in DirectoryCheck
    }

    /// Checks the bytes between an entry's data and the next entry, which must be the entry's descriptor or nothing.
    static func checkDescriptor(
        of entry: ZIPEntry, in raw: RawSpan, _ range: Range<Int>, file: String
    ) throws(Failure) {
        let start = range.lowerBound
        let agrees =
            switch (entry.usesDescriptor, range.count) {
            case (false, let count): count == 0
            case (true, ZIPLayout.descriptorSize):
                raw.little(start + 8) == UInt32(truncatingIfNeeded: entry.compressedSize)
                    && raw.little(start + 12) == UInt32(truncatingIfNeeded: entry.size)
            case (true, ZIPLayout.zip64DescriptorSize):
                raw.little(start + 8) == UInt64(clamping: entry.compressedSize)
                    && raw.little(start + 16) == UInt64(clamping: entry.size)
            default: false
            }
        let signed =
            !entry.usesDescriptor
            || (range.count >= 8 && raw.little(start) == ZIPLayout.descriptorSignature
                && raw.little(start + 4) == entry.crc)
        guard agrees, signed else {
            throw Failure(
                .malformed, file: file, entry: ZIPEntry.text(raw, entry.name),
                found: entry.usesDescriptor
                    ? "the data descriptor does not match the central directory"
                    : "\(range.count) unexpected bytes after the data")
        }
    }
}

extension RawSpan {
    fileprivate func isEqual(to other: RawSpan) -> Bool {
        guard byteCount == other.byteCount else { return false }
        for offset in 0..<byteCount where little(offset, as: UInt8.self) != other.little(offset, as: UInt8.self) {
            return false
        }
        return true
    }
}
