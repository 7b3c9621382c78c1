import RemoteSettingsModel

/// The server's zip of a collection's attachments: for each record `{id}`, the file, and `{id}.meta.json`, the record.
///
/// It is unsigned, may lag behind the collection and may lack files: a way to get many bytes with one request, nothing
/// more. What it gives is as claimed: every file must be checked against its record's hash by who takes it.
public struct AttachmentsZIP: Sendable {
    private struct Entry {
        var method: UInt16
        var compressedSize: Int
        var size: Int
        var header: Int
    }

    private let bytes: Bytes
    private let name: String
    private let entries: [String: Entry]

    /// Reads the directory. Entries that no record can have (by name, size or compression) are passed over.
    ///
    /// - Parameter name: the URL or path it came from, for error messages.
    /// - Throws: ``BundleError`` where it is no ZIP file, or larger than ``Limits/attachmentsZipBytes``.
    public init(_ bytes: Bytes, name: String, limits: Limits) throws(BundleError) {
        guard bytes.count <= limits.attachmentsZipBytes else {
            throw BundleError(
                .overLimit, file: name, expected: "at most \(limits.attachmentsZipBytes) bytes",
                found: "\(bytes.count)")
        }
        self.bytes = bytes
        self.name = name
        entries = try bytes.withRawSpan { (raw) throws(BundleError) in
            let end = try ZIPEnd(raw, file: name)
            guard end.count <= limits.attachments * 2 else {
                throw BundleError(
                    .overLimit, file: name, expected: "at most \(limits.attachments * 2) entries",
                    found: "\(end.count)")
            }
            var entries: [String: Entry] = [:]
            var offset = end.directory.lowerBound
            for _ in 0..<end.count {
                guard offset <= end.directory.upperBound - ZIPLayout.centralSize,
                    raw.little(offset) == ZIPLayout.centralSignature
                else {
                    throw BundleError(
                        .malformed, file: name, expected: "a directory record at byte \(offset)", found: "none")
                }
                let nameEnd = offset + ZIPLayout.centralSize + Int(raw.little(offset + 28, as: UInt16.self))
                let extraLength = Int(raw.little(offset + 30, as: UInt16.self))
                let commentLength = Int(raw.little(offset + 32, as: UInt16.self))
                let next = nameEnd + extraLength + commentLength
                guard next <= end.directory.upperBound else {
                    throw BundleError(
                        .malformed, file: name, expected: "a directory record inside of the directory",
                        found: "one at byte \(offset) that leaves it")
                }
                let id = bytes[offset + ZIPLayout.centralSize..<nameEnd].text
                let entry = Entry(
                    method: raw.little(offset + 10), compressedSize: Int(raw.little(offset + 20, as: UInt32.self)),
                    size: Int(raw.little(offset + 24, as: UInt32.self)),
                    header: Int(raw.little(offset + 42, as: UInt32.self)))
                // `{id}.meta.json` is no valid id, as it has a dot. The first of two with one name counts.
                if Identifier.isValid(id.utf8), entries[id] == nil { entries[id] = entry }
                offset = next
            }
            return entries
        }
    }

    /// The file of a record.
    ///
    /// - Parameter size: what the record declares, in bytes: a file of another size is not read.
    /// - Returns: `nil` where the zip has no such file, or it cannot be read: it is as good as missing.
    public func file(of record: String, size: Int) -> Bytes? {
        guard let entry = entries[record], entry.size == size else { return nil }
        let data = bytes.withRawSpan { raw -> Range<Int>? in
            guard entry.header <= raw.byteCount - ZIPLayout.localSize,
                raw.little(entry.header) == ZIPLayout.localSignature
            else { return nil }
            let start =
                entry.header + ZIPLayout.localSize + Int(raw.little(entry.header + 26, as: UInt16.self))
                + Int(raw.little(entry.header + 28, as: UInt16.self))
            guard start <= raw.byteCount, entry.compressedSize <= raw.byteCount - start else { return nil }
            return start..<start + entry.compressedSize
        }
        guard let data else { return nil }
        switch entry.method {
        case ZIPLayout.stored: return entry.compressedSize == size ? bytes[data] : nil
        case ZIPLayout.deflated: return (try? Inflater.inflate(bytes[data], size: size)).map { Bytes($0) }
        default: return nil
        }
    }
}
