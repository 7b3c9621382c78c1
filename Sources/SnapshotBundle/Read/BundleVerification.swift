import Deflate
import RemoteSettingsModel

extension BundleReader {
    /// Reads every byte of the bundle and checks it: each entry's size, CRC-32 and SHA-256, the manifest against the
    /// entries and the entries against the manifest, the payload's count, timestamp and attachments against the manifest,
    /// and that nothing lies between the entries. Does I/O; uses little memory besides the manifest and the payload, which
    /// is inflated and read once.
    ///
    /// Signatures are not checked here (`ContentSignature` does that), nor the hash of the file (the lock has it).
    ///
    /// - Returns: the manifest.
    /// - Throws: ``BundleError`` that names the first entry that is wrong.
    @discardableResult
    package func verifyContents() throws(BundleError) -> Manifest { try verifiedContents().manifest }

    /// Like ``verifyContents()``, and also returns the payload, so that its signature can be verified without reading it
    /// again.
    package func verifiedContents() throws(BundleError) -> (manifest: Manifest, payload: Payload) {
        try checkPlaces()
        let manifest = try manifest()
        guard manifest.head == head else {
            throw BundleError(
                .disagreement, file: name, entry: BundleFormat.manifest, expected: "the head at the file's start",
                found: "another")
        }
        try verify(0, size: manifestText().count, sha256: nil)
        let payload = try verifiedPayload(manifest.entries[0])
        for (offset, entry) in manifest.entries.enumerated().dropFirst() {
            try verify(1 + offset, size: entry.size, sha256: entry.sha256)
        }
        try checkFiles(manifest, payload.records)
        var index = directory.fixedCount
        for file in manifest.packed {
            let present = directory.attachment(at: index)
            guard present == file.sha256 else {
                throw BundleError(
                    .disagreement, file: name, entry: BundleFormat.attachmentPrefix + file.sha256.hex,
                    expected: "this entry, as the manifest lists it",
                    found: present.map { BundleFormat.attachmentPrefix + $0.hex } ?? "no more entries")
            }
            try verify(index, size: file.size, sha256: file.sha256)
            index += 1
        }
        guard index == directory.count else {
            throw BundleError(
                .disagreement, file: name, entry: directory.name(at: index), expected: "an entry of the manifest",
                found: "an entry that it does not list")
        }
        return (manifest, payload)
    }

    /// Checks that entries and their descriptors follow each other without a gap.
    private func checkPlaces() throws(BundleError) {
        for index in 0..<directory.count {
            let (entry, data, end) = try directory.open(index)
            try directory.bytes.withRawSpan { (raw) throws(BundleError) in
                try LocalHeader.checkDescriptor(of: entry, in: raw, data.upperBound..<end, file: name)
            }
        }
    }

    /// Inflates `records.json`, the first entry that the manifest lists, checks its hash and reads it.
    private func verifiedPayload(_ listed: Manifest.Entry) throws(BundleError) -> Payload {
        let entry = try directory.open(1).entry
        try check(1, entry.size == listed.size, expected: "\(listed.size) bytes", found: "\(entry.size)")
        let text = try contents(1)
        // What is inflated was checked by contents(_:).
        let crc = entry.method == ZIPLayout.stored ? crc32(of: text) : entry.crc
        guard crc == entry.crc else {
            throw BundleError(
                .damaged, file: name, entry: BundleFormat.records, expected: "CRC-32 \(entry.crc)", found: "\(crc)")
        }
        let found = SHA256Digest(hashing: text)
        try check(1, found == listed.sha256, expected: "SHA-256 \(listed.sha256)", found: found.hex)
        return try payload(parsing: text)
    }

    private func check(
        _ index: Int, _ isRight: Bool, expected: @autoclosure () -> String, found: @autoclosure () -> String
    ) throws(BundleError) {
        guard !isRight else { return }
        throw BundleError(
            .disagreement, file: name, entry: directory.name(at: index),
            expected: "\(expected()), as the manifest says", found: found())
    }

    private func verify(_ index: Int, size: Int, sha256: SHA256Digest?) throws(BundleError) {
        let entry = try directory.open(index).entry
        try check(index, entry.size == size, expected: "\(size) bytes", found: "\(entry.size)")
        var hasher = ContentHasher()
        do {
            try stream(index) { hasher.update($0) }
        } catch let error as BundleError {
            throw error
        } catch {
            throw BundleError(
                .disagreement, file: name, entry: directory.name(at: index), expected: "a readable entry",
                found: "\(error)")
        }
        let found = hasher.finish()
        if let sha256 { try check(index, found == sha256, expected: "SHA-256 \(sha256)", found: found.hex) }
    }

    /// Checks that the manifest lists exactly the attachments that the records name.
    private func checkFiles(_ manifest: Manifest, _ records: RecordTable) throws(BundleError) {
        let named = try Manifest.files(namedBy: records, file: name, limits: limits)
        let listed = manifest.files
        for index in 0..<max(named.count, listed.count) {
            let wanted = index < named.count ? named[index] : nil
            let found = index < listed.count ? listed[index] : nil
            guard wanted != found.map({ Manifest.file($0, omitted: nil) }) else { continue }
            func text(_ file: Manifest.File?) -> String {
                file.map { "\($0.sha256) of \($0.size) bytes at \($0.location)" } ?? "none"
            }
            throw BundleError(
                .disagreement, file: name, entry: "\(BundleFormat.manifest): files[\(index)]",
                expected: "the attachment that the records name, \(text(wanted))", found: text(found))
        }
    }
}
