import RemoteSettingsModel

/// The ZIP directory of a bundle: its entries and the positions of their data.
///
/// It reads only the last part of the file, not the local headers or data. The entries must be exactly those that the
/// bundle format requires, in the required order and without gaps. Each must be a regular file within ``Limits``. The
/// local header of an entry is checked when the entry is opened.
struct ZIPDirectory: Sendable {
    let file: String
    let bytes: Bytes
    let hasChain: Bool
    /// The offsets of the directory's records. Names and hashes are read from the file's bytes and not copied.
    private let records: [Int]
    /// The range of the directory in the file.
    private let range: Range<Int>

    var count: Int { records.count }
    /// The number of entries before the first attachment.
    var fixedCount: Int { hasChain ? 4 : 3 }
    var attachmentCount: Int { records.count - fixedCount }

    init(_ bytes: Bytes, file: String) throws(Failure) {
        let parsed = try bytes.withRawSpan { (raw) throws(Failure) -> (ZIPEnd, [Int], Bool) in
            let end = try ZIPEnd(raw, file: file)
            guard end.count <= Limits.attachments + 4 else {
                throw Failure(
                    .overLimit, file: file, expected: "at most \(Limits.attachments) attachments (Limits.attachments)",
                    found: "\(end.count) entries")
            }
            var check = DirectoryCheck(file: file, directory: end.directory)
            var records: [Int] = []
            records.reserveCapacity(end.count)
            var offset = end.directory.lowerBound
            for _ in 0..<end.count {
                records.append(offset)
                let entry = try ZIPEntry(raw, at: offset, directoryEnd: end.directory.upperBound, file: file)
                try check.accept(entry, raw)
                offset = entry.next
            }
            guard offset == end.directory.upperBound else {
                throw Failure(
                    .malformed, file: file, found: "there are bytes after the \(end.count) entries of the directory")
            }
            try check.finish()
            return (end, records, check.hasChain)
        }
        self.file = file
        self.bytes = bytes
        range = parsed.0.directory
        records = parsed.1
        hasChain = parsed.2
    }

    /// Returns the name of the entry at `index`.
    func name(at index: Int) -> String {
        switch index {
        case 0: BundleFormat.manifest
        case 1: BundleFormat.records
        case 2: BundleFormat.metadata
        case 3 where hasChain: BundleFormat.chain
        default: BundleFormat.attachmentPrefix + (attachment(at: index)?.hex ?? "?")
        }
    }

    func size(of index: Int) throws(Failure) -> Int { try record(index).size }

    func isDeflated(at index: Int) -> Bool { (try? record(index).method) == ZIPLayout.deflated }

    /// Returns the hash in the name of the attachment at `index` of the directory.
    func attachment(at index: Int) -> SHA256Digest? {
        guard index >= fixedCount, index < count else { return nil }
        let hex = records[index] + ZIPLayout.centralSize + BundleFormat.attachmentPrefix.utf8.count
        return SHA256Digest(hex: bytes[hex..<hex + 64].text)
    }

    /// Returns the index of an attachment's entry, by binary search over the names.
    func index(of digest: SHA256Digest) -> Int? {
        let wanted = Bytes(utf8: BundleFormat.attachmentPrefix + digest.hex)
        return wanted.withRawSpan { wanted in
            bytes.withRawSpan { raw in
                var (low, high) = (fixedCount, records.count)
                while low < high {
                    let middle = low + (high - low) / 2
                    let order = AttachmentName.compare(
                        records[middle] + ZIPLayout.centralSize, in: raw, with: 0, in: wanted)
                    if order == 0 { return middle }
                    if order < 0 { low = middle + 1 } else { high = middle }
                }
                return nil
            }
        }
    }

    /// Returns an entry's record, and the position of its data according to its local header, which must match the
    /// record.
    ///
    /// - Parameter bytes: bytes in which the entry is at its place.
    func open(_ index: Int, in bytes: Bytes) throws(Failure) -> (entry: ZIPEntry, data: Range<Int>, end: Int) {
        let entry = try record(index)
        let end = try range(of: index).upperBound
        let data = try bytes.withRawSpan { (raw) throws(Failure) -> Range<Int> in
            try LocalHeader.data(of: entry, in: raw, end: end, file: file)
        }
        return (entry, data, end)
    }

    /// Returns the range of an entry in the file, with its local header.
    func range(of index: Int) throws(Failure) -> Range<Int> {
        let start = try record(index).headerOffset
        return try start..<max(start, index + 1 < count ? record(index + 1).headerOffset : range.lowerBound)
    }

    /// Returns the range of an entry's record in the directory, with which its local header is compared.
    func recordRange(of index: Int) -> Range<Int> {
        records[index]..<(index + 1 < count ? records[index + 1] : range.upperBound)
    }

    /// Returns the place in the file at which the attachments begin.
    func startOfAttachments() throws(Failure) -> Int {
        try attachmentCount > 0 ? record(fixedCount).headerOffset : range.lowerBound
    }

    private func record(_ index: Int) throws(Failure) -> ZIPEntry {
        try bytes.withRawSpan { (raw) throws(Failure) in
            try ZIPEntry(raw, at: records[index], directoryEnd: range.upperBound, file: file)
        }
    }
}
