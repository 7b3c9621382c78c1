import RemoteSettingsModel

/// One entry of a bundle's directory (APPNOTE 4.3.12).
struct ZIPEntry {
    let name: Range<Int>
    let flags: UInt16
    let method: UInt16
    let crc: UInt32
    let compressedSize: Int
    let size: Int
    let headerOffset: Int
    /// The offset of the directory's next entry.
    let next: Int

    var usesDescriptor: Bool { flags & ZIPLayout.descriptorFlag != 0 }

    /// Parses the record at `offset` of a directory that ends at `end`, and checks it without regard to other entries.
    init(_ raw: RawSpan, at offset: Int, directoryEnd end: Int, file: borrowing String) throws(Failure) {
        guard offset <= end - ZIPLayout.centralSize, raw.little(offset) == ZIPLayout.centralSignature else {
            throw Failure(.malformed, file: copy file, found: "no central directory entry at byte \(offset)")
        }
        // Extract the record first, because its fixed length needs only one bounds check for all fields.
        let record = raw.extracting(offset..<offset + ZIPLayout.centralSize)
        let nameLength = Int(record.little(28, as: UInt16.self))
        let extraLength = Int(record.little(30, as: UInt16.self))
        let commentLength = Int(record.little(32, as: UInt16.self))
        name = offset + ZIPLayout.centralSize..<offset + ZIPLayout.centralSize + nameLength
        next = name.upperBound + extraLength + commentLength
        guard next <= end else {
            throw Failure(
                .malformed, file: copy file,
                found: "the directory entry at byte \(offset) extends past the central directory")
        }
        flags = record.little(8)
        method = record.little(10)
        crc = record.little(16)

        let sizes: (UInt32, UInt32) = (record.little(20), record.little(24))
        let header: UInt32 = record.little(42)
        guard var large = ZIP64Extra(raw, in: name.upperBound..<name.upperBound + extraLength) else {
            throw Failure(.malformed, file: copy file, entry: Self.text(raw, name), found: ZIP64Extra.problem)
        }
        // The values have the order of the extra field (APPNOTE 4.5.3): size, compressed size, offset.
        let size = sizes.1 == .max ? large.next(raw) : Int(exactly: sizes.1)
        let compressedSize = sizes.0 == .max ? large.next(raw) : Int(exactly: sizes.0)
        let headerOffset = header == .max ? large.next(raw) : Int(exactly: header)
        guard let size, let compressedSize, let headerOffset else {
            throw Failure(
                .malformed, file: copy file, entry: Self.text(raw, name),
                found: "the entry's sizes are invalid")
        }
        (self.size, self.compressedSize, self.headerOffset) = (size, compressedSize, headerOffset)

        let version = record.little(6, as: UInt16.self)
        let host = record.little(5, as: UInt8.self)
        let mode = record.little(40, as: UInt16.self)
        let disk = record.little(34, as: UInt16.self)
        let allowed =
            flags & ~ZIPLayout.allowedFlags == 0 && host == ZIPLayout.unixHost && disk == 0 && commentLength == 0
            && version <= ZIPLayout.mostVersion && mode & ZIPLayout.typeMask == ZIPLayout.regularFile
            && (method == ZIPLayout.deflated || (method == ZIPLayout.stored && size == compressedSize))
        guard allowed else {
            throw Failure(
                .malformed, file: copy file, entry: Self.text(raw, name),
                found:
                    "the entry must be a regular file, stored or deflated, not encrypted, without a comment; found "
                    + "host \(host), version \(version), mode 0\(String(mode, radix: 8)), method \(method), flags 0x"
                    + "\(String(flags, radix: 16)), compressed size \(compressedSize), size \(size)")
        }
    }

    /// Returns an entry's name for an error message. All characters except printable ASCII become `?`.
    static func text(_ raw: RawSpan, _ range: Range<Int>) -> String {
        var text = ""
        for offset in range.prefix(120) {
            let byte = raw.little(offset, as: UInt8.self)
            text.unicodeScalars.append(byte >= 0x20 && byte < 0x7F ? Unicode.Scalar(byte) : "?")
        }
        return text
    }
}

/// Checks an entry's extra fields, and reads the values of the ZIP64 extended information field in sequence (APPNOTE
/// 4.5).
struct ZIP64Extra {
    static let problem = "an extra field is not one of those in a bundle (ZIP64, UT, ux), appears twice or is truncated"

    private var values: Range<Int> = 0..<0

    /// Returns `nil` if the fields are not valid.
    init?(_ raw: RawSpan, in extra: Range<Int>) {
        var seen: UInt8 = 0
        var offset = extra.lowerBound
        while offset < extra.upperBound {
            guard offset + 4 <= extra.upperBound else { return nil }
            let id: UInt16 = raw.little(offset)
            let end = offset + 4 + Int(raw.little(offset + 2, as: UInt16.self))
            let field: UInt8
            switch id {
            case ZIPLayout.zip64Extra: field = 1
            case ZIPLayout.timeExtra: field = 2
            case ZIPLayout.ownerExtra: field = 4
            // Others, such as a Unicode path (0x7075), could make other readers use a different name or content.
            default: return nil
            }
            guard end <= extra.upperBound, seen & field == 0 else { return nil }
            seen |= field
            if id == ZIPLayout.zip64Extra { values = offset + 4..<end }
            offset = end
        }
    }

    mutating func next(_ raw: RawSpan) -> Int? {
        guard values.count >= 8 else { return nil }
        defer { values = values.lowerBound + 8..<values.upperBound }
        return Int(exactly: raw.little(values.lowerBound, as: UInt64.self))
    }
}
