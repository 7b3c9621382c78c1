import RemoteSettingsModel

/// Checks that the entries of a bundle's directory are consistent: names, order, positions and sizes.
struct DirectoryCheck {
    let file: String
    let directory: Range<Int>
    private(set) var hasChain = false
    private var accepted = 0
    private var previousEnd = 0
    private var previousName: Int?

    init(file: String, directory: Range<Int>) {
        self.file = file
        self.directory = directory
    }

    /// Checks the directory's next entry.
    @inline(__always)
    mutating func accept(_ entry: ZIPEntry, _ raw: RawSpan) throws(Failure) {
        let limit: Int
        if accepted >= 3, AttachmentName.isValid(raw, entry.name) {
            let name = entry.name.lowerBound
            if let previousName, AttachmentName.compare(previousName, in: raw, with: name, in: raw) >= 0 {
                throw failure(entry, raw, found: "the attachments must be sorted by name, without duplicates")
            }
            previousName = name
            limit = Limits.attachmentBytes
        } else {
            limit = try acceptFixed(entry, raw)
        }
        guard entry.size <= limit else {
            throw Failure(
                .overLimit, file: file, entry: ZIPEntry.text(raw, entry.name), expected: "at most \(limit) bytes",
                found: "\(entry.size) bytes")
        }
        // A deflate stream expands by at most 1032 to 1 (zlib's technical notes). A larger size is false, and no memory
        // must be allocated for it.
        guard entry.compressedSize <= directory.lowerBound else {
            throw failure(
                entry, raw, found: "the compressed size, \(entry.compressedSize) bytes, is larger than the file")
        }
        guard entry.size / 1032 <= entry.compressedSize else {
            throw failure(
                entry, raw,
                found: "\(entry.compressedSize) compressed bytes cannot decompress to \(entry.size) bytes")
        }
        let smallest = ZIPLayout.localSize + entry.name.count + entry.compressedSize  // bounded: by the file, above
        guard entry.headerOffset >= previousEnd, entry.headerOffset <= directory.lowerBound - smallest,
            accepted > 0 || entry.headerOffset == 0
        else {
            throw failure(
                entry, raw,
                found:
                    "the data (\(entry.compressedSize) bytes at byte \(entry.headerOffset)) does not follow the "
                    + "previous entry, or overlaps the directory")
        }
        previousEnd = entry.headerOffset + smallest
        accepted += 1
    }

    func finish() throws(Failure) {
        guard accepted >= 3 else {
            throw Failure(.malformed, file: file, found: "manifest.json, records.json or metadata.json is missing")
        }
    }

    private mutating func acceptFixed(_ entry: ZIPEntry, _ raw: RawSpan) throws(Failure) -> Int {
        let name = ZIPEntry.text(raw, entry.name)
        switch (accepted, name) {
        case (0, BundleFormat.manifest):
            guard entry.method == ZIPLayout.stored else {
                throw failure(entry, raw, found: "manifest.json must not be compressed")
            }
            return Limits.manifestBytes
        case (1, BundleFormat.records): return Limits.changesetBytes
        case (2, BundleFormat.metadata): return Limits.metadataBytes
        case (3, BundleFormat.chain):
            hasChain = true
            return Limits.chainBytes
        default:
            let expected =
                switch accepted {
                case 0: BundleFormat.manifest
                case 1: BundleFormat.records
                case 2: BundleFormat.metadata
                default: "attachments/ and 64 lowercase hexadecimal digits"
                }
            throw failure(entry, raw, expected: "an entry named \(expected)", found: "\"\(name)\"")
        }
    }

    private func failure(_ entry: ZIPEntry, _ raw: RawSpan, expected: String? = nil, found: String) -> Failure {
        Failure(.malformed, file: file, entry: ZIPEntry.text(raw, entry.name), expected: expected, found: found)
    }
}
