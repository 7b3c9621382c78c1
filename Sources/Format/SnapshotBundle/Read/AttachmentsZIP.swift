import RemoteSettingsModel

/// The server's ZIP file with a collection's attachments. For each record, `{id}` is the file and `{id}.meta.json` is
/// the record.
///
/// It is unsigned, may be older than the collection and may lack files, so it is used only to save requests. The caller
/// must check each file against the hash in its record.
package struct AttachmentsZIP: Sendable {
    fileprivate struct Entry {
        var method: UInt16
        var compressedSize: Int
        var size: Int
        var header: Int

        /// Whether the claimed size is possible. Deflate compresses by at most 1,032 to 1 (zlib's technical notes). An
        /// entry that claims more is skipped before memory is allocated for it.
        var canHaveItsSize: Bool { size / 1032 <= compressedSize }
    }

    private let bytes: Bytes
    private let entries: [ExactString: Entry]

    /// Maps a downloaded ZIP file into memory. Does I/O.
    ///
    /// - Throws: the errors of ``init(_:name:)``, and ``Failure`` if the file cannot be read.
    package init(path: String) throws(Failure) {
        try self.init(try MappedFile(path: path).bytes, name: path)
    }

    /// Reads the directory of a ZIP file.
    ///
    /// - Parameter name: the URL or path of the ZIP file, for error messages.
    /// - Throws: ``Failure`` if it is not a ZIP file, is larger than ``Limits/attachmentsZipBytes``, claims more
    ///   than ``Limits/attachmentsZipContentBytes``, or has overlapping entries. Each entry must be an unencrypted
    ///   regular file with a unique name of the above form.
    package init(_ bytes: Bytes, name: String) throws(Failure) {
        guard bytes.count <= Limits.attachmentsZipBytes else {
            throw Failure(
                .overLimit, file: name, expected: "at most \(Limits.attachmentsZipBytes) bytes",
                found: "\(bytes.count)")
        }
        self.bytes = bytes
        entries = try bytes.withRawSpan { (raw) throws(Failure) in
            let end = try ZIPEnd(raw, file: name)
            // There are two entries for each record.
            guard end.count <= Limits.attachments * 2 else {
                throw Failure(
                    .overLimit, file: name, expected: "at most \(Limits.attachments * 2) entries",
                    found: "\(end.count)")
            }
            var entries: [ExactString: Entry] = [:]
            var offset = end.directory.lowerBound
            var (packed, unpacked) = (0, 0)
            for _ in 0..<end.count {
                guard offset <= end.directory.upperBound - ZIPLayout.centralSize,
                    raw.little(offset) == ZIPLayout.centralSignature
                else { throw Failure(.malformed, file: name, found: "no central directory entry at byte \(offset)") }
                let record = raw.extracting(offset..<offset + ZIPLayout.centralSize)
                let nameEnd = offset + ZIPLayout.centralSize + Int(record.little(28, as: UInt16.self))
                let next =
                    nameEnd + Int(record.little(30, as: UInt16.self)) + Int(record.little(32, as: UInt16.self))
                guard next <= end.directory.upperBound else {
                    throw Failure(
                        .malformed, file: name,
                        found: "the directory entry at byte \(offset) extends past the central directory")
                }
                let entry = bytes[offset + ZIPLayout.centralSize..<nameEnd].text
                try Self.check(record, named: entry, file: name)
                let place = Entry(record)
                guard entries.updateValue(place, forKey: entry.exact) == nil else {
                    throw Self.refusal(entry, file: name, "this name appears twice")
                }
                packed = packed.saturatingAdding(place.compressedSize)
                if place.canHaveItsSize { unpacked = unpacked.saturatingAdding(place.size) }
                offset = next
            }
            guard unpacked <= Limits.attachmentsZipContentBytes else {
                throw Failure(
                    .overLimit, file: name,
                    expected:
                        "files of at most \(Limits.attachmentsZipContentBytes) bytes in total "
                        + "(Limits.attachmentsZipContentBytes)", found: "\(unpacked)")
            }
            // Entries must not overlap: if many names shared the same compressed bytes, a small file could claim large
            // contents.
            guard packed <= end.directory.lowerBound else {
                throw Failure(
                    .malformed, file: name,
                    found: "entries overlap: \(packed) bytes of them before byte \(end.directory.lowerBound)")
            }
            return entries
        }
    }

    /// Returns the file of a record.
    ///
    /// - Parameter size: the size in the record, in bytes. A file of a different size is not read, and neither is a
    ///   file larger than ``Limits/attachmentsZipBytes`` after decompression.
    /// - Returns: `nil` if the ZIP file does not contain the file, or if it cannot be read.
    package func file(of record: String, size: Int) -> Bytes? {
        guard Identifier.isValid(record.utf8), let entry = entries[record], entry.size == size, entry.canHaveItsSize,
            size <= Limits.attachmentsZipBytes
        else { return nil }
        let data = bytes.withRawSpan { raw -> Range<Int>? in
            guard entry.header <= raw.byteCount - ZIPLayout.localSize,
                raw.little(entry.header) == ZIPLayout.localSignature
            else { return nil }
            let start =
                entry.header + ZIPLayout.localSize + Int(raw.little(entry.header + 26, as: UInt16.self))
                + Int(raw.little(entry.header + 28, as: UInt16.self))
            guard start <= raw.byteCount, entry.compressedSize <= raw.byteCount - start else { return nil }
            return start..<start + entry.compressedSize  // bounded: by the line above
        }
        guard let data else { return nil }
        switch entry.method {
        case ZIPLayout.stored: return entry.compressedSize == size ? bytes[data] : nil
        case ZIPLayout.deflated: return (try? Inflater.inflate(bytes[data], size: size)).map { Bytes($0) }
        default: return nil
        }
    }

    /// Rejects entries that no server creates. This is only a precaution, because entry names never become file names.
    private static func check(_ record: RawSpan, named entry: String, file: String) throws(Failure) {
        let suffix = ".meta.json"
        let id = entry.hasSuffix(suffix) ? String(entry.dropLast(suffix.count)) : entry
        guard Identifier.isValid(id.utf8) else {
            throw refusal(entry, file: file, "the name must be a record id or RECORD-ID.meta.json")
        }
        let flags: UInt16 = record.little(8)
        // Accept 0 too, because Python does not set the type bits of a regular file.
        let type = record.little(40, as: UInt16.self) & ZIPLayout.typeMask
        guard flags & encryptedFlag == 0, [0, ZIPLayout.regularFile].contains(type) else {
            throw refusal(entry, file: file, "the entry must be an unencrypted regular file")
        }
    }

    private static func refusal(_ entry: String, file: String, _ problem: String) -> Failure {
        Failure(.malformed, file: file, entry: entry, found: problem)
    }

    private static let encryptedFlag: UInt16 = 1
}

extension AttachmentsZIP.Entry {
    fileprivate init(_ record: RawSpan) {
        method = record.little(10)
        compressedSize = Int(record.little(20, as: UInt32.self))
        size = Int(record.little(24, as: UInt32.self))
        header = Int(record.little(42, as: UInt32.self))
    }
}
