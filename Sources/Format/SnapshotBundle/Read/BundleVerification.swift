import Dispatch
import RemoteSettingsModel

extension BundleReader {
    /// Reads and checks every byte of the bundle. Does I/O.
    ///
    /// It checks each entry's size, CRC-32 and SHA-256, and that the manifest and the entries match each other. It
    /// checks that the number of records, the timestamp and the attachments in the payload match the manifest, and that
    /// there are no bytes between the entries. It needs little memory besides the manifest and the payload, which is
    /// inflated and parsed once.
    ///
    /// It checks neither signatures (see `UnverifiedSnapshot.verified`) nor the hash of the whole file, which is in the
    /// lock file.
    ///
    /// - Returns: the manifest.
    /// - Throws: ``Failure`` with the first wrong entry.
    @discardableResult
    package func verifyContents() throws(Failure) -> Manifest { try verifiedContents().manifest }

    /// Verifies the bundle like ``verifyContents()``, and also returns the payload, so that its signature can be
    /// verified without parsing it again.
    package func verifiedContents() throws(Failure) -> (manifest: Manifest, payload: Payload) {
        try verifiedContents(written: nil)
    }

    /// Verifies a bundle that was just written from `payload`, like ``verifyContents()``. The records in the file are
    /// only compared with the payload, and neither kept in memory nor parsed.
    ///
    /// - Parameter content: the SHA-256 of the manifest that was written.
    package func verifyContents(of payload: Payload, content: SHA256Digest) throws(Failure) {
        let found = SHA256Digest(hashing: try manifestText())
        try check(0, found == content, expected: "SHA-256 \(content)", found: found.hex)
        _ = try verifiedContents(written: payload)
    }

    /// Returns whether the records in the bundle are exactly those of `payload`. They are not kept in memory.
    package func hasPayload(_ payload: Payload) -> Bool {
        (try? comparePayload(payload)) != nil
    }

    private func comparePayload(_ payload: Payload) throws(Failure) {
        let records = try entry(1)
        let size = payload.bytes.count
        try check(1, records.size == size, expected: "\(size) bytes", found: "\(records.size)")
        var count = 0
        do {
            try records.read { piece in
                let isSame =
                    count + piece.count <= payload.bytes.count
                    && payload.bytes[count..<count + piece.count].withSpan { $0.hasSameBytes(as: piece) }
                guard isSame else { throw difference(behind: count) }
                count += piece.count
            }
        } catch let error as Failure where !error.place.isEmpty {
            throw error
        } catch {
            throw difference(behind: count)
        }
    }

    private func difference(behind count: Int) -> Failure {
        Failure(
            .damaged, file: name, entry: BundleFormat.records,
            found: "the records differ from those that were written, from byte \(count) on")
    }

    /// Verifies all contents.
    ///
    /// - Parameter written: the payload from which the bundle was just written; `nil` for any other bundle.
    private func verifiedContents(written: Payload?) throws(Failure) -> (manifest: Manifest, payload: Payload) {
        try checkPlaces()
        let manifest = try manifest()
        guard manifest.head == head else {
            throw Failure(
                .damaged, file: name, entry: BundleFormat.manifest,
                found: "the manifest in the ZIP directory differs from the one at the start of the file")
        }
        try verify(0, size: manifestText().count, sha256: nil)
        let files = manifest.packed
        let bytes = files.saturatingSum { UInt64(clamping: $0.size) }
        let parts = Self.parts(of: files, bytes)
        let payload = Mutex<Payload?>(nil)
        let failures = Mutex<[Int: Failure]>([:])
        @Sendable func run(_ part: Int) {
            do throws(Failure) {
                guard part > 0 else {
                    let verified = try verifiedHead(manifest, written)
                    return payload.withLock { $0 = verified }
                }
                try verify(files[parts[part - 1]], from: directory.fixedCount + parts[part - 1].lowerBound)
            } catch {
                failures.withLock { $0[part] = error }
            }
        }
        // The parts are independent of each other, so several threads read them, unless starting a thread would take
        // longer. If there are several errors, the first one in the order of the file is reported.
        if bytes < Self.leastShared {
            for part in 0...parts.count { run(part) }
        } else {
            DispatchQueue.concurrentPerform(iterations: 1 + parts.count, execute: run)
        }
        if let first = failures.withLock({ $0.min { $0.key < $1.key } }) { throw first.value }
        guard directory.fixedCount + files.count == directory.count else {
            throw Failure(
                .damaged, file: name, entry: directory.name(at: directory.fixedCount + files.count),
                found: "the manifest does not list this entry")
        }
        guard let payload = payload.withLock({ $0 }) else { preconditionFailure("part 0 sets the payload or fails") }
        return (manifest, payload)
    }

    /// The minimum total size of attachments in bytes for reading them with several threads.
    private static let leastShared: UInt64 = 128 << 10

    /// Divides the attachments into at most four parts of similar size that are read in parallel. More parts would need
    /// more memory.
    private static func parts(of files: [Manifest.File], _ bytes: UInt64) -> [Range<Int>] {
        let most = max(bytes / 4, leastShared)
        var parts: [Range<Int>] = []
        var (start, size) = (0, UInt64(0))
        for (index, file) in files.enumerated() {
            size = size.saturatingAdding(UInt64(clamping: file.size))
            guard size >= most || index == files.count - 1 else { continue }
            parts.append(start..<index + 1)
            (start, size) = (index + 1, 0)
        }
        return parts
    }

    /// Verifies all entries except the attachments.
    private func verifiedHead(_ manifest: Manifest, _ written: Payload?) throws(Failure) -> Payload {
        let payload: Payload
        if let written {
            try comparePayload(written)
            payload = written
        } else {
            payload = try verifiedPayload(manifest.entries[0])
        }
        for (offset, entry) in manifest.entries.enumerated().dropFirst() {
            try verify(1 + offset, size: entry.size, sha256: entry.sha256)
        }
        // The manifest of a bundle that was just written was generated from its records, so comparing them is not
        // necessary.
        if written == nil { try checkFiles(manifest, payload.records) }
        return payload
    }

    /// Verifies consecutive attachments, beginning with the entry `start`.
    private func verify(_ files: ArraySlice<Manifest.File>, from start: Int) throws(Failure) {
        let inflater = try? Inflater()
        var read: Range<Int>?
        for (offset, file) in files.enumerated() {
            let present = directory.attachment(at: start + offset)
            guard present == file.sha256 else {
                throw Failure(
                    .damaged, file: name, entry: BundleFormat.attachmentPrefix + file.sha256.hex,
                    found: "the entry is missing, but the manifest lists it")
            }
            try verify(start + offset, size: file.size, sha256: file.sha256, with: inflater)
            // Pages that were read count toward the memory of the process until they are released.
            let entry = try directory.range(of: start + offset)
            let range = (read?.lowerBound ?? entry.lowerBound)..<entry.upperBound
            let isLarge = range.count >= 1 << 20 || offset == files.count - 1
            if isLarge { mapping?.discard(range) }
            read = isLarge ? nil : range
        }
    }

    /// Checks that nothing except its data descriptor follows the data of each entry.
    private func checkPlaces() throws(Failure) {
        for index in 0..<directory.count {
            let bytes = try bytes(of: index)
            let (entry, data, end) = try directory.open(index, in: bytes)
            try bytes.withRawSpan { (raw) throws(Failure) in
                try LocalHeader.checkDescriptor(of: entry, in: raw, data.upperBound..<end, file: name)
            }
        }
    }

    /// Inflates `records.json`, the first entry in the manifest, checks its hash and parses it.
    private func verifiedPayload(_ listed: Manifest.Entry) throws(Failure) -> Payload {
        let entry = try entry(1)
        try check(1, entry.size == listed.size, expected: "\(listed.size) bytes", found: "\(entry.size)")
        let text = try contents(1)
        // `contents(_:)` has already checked the CRC-32 of an entry that it inflated.
        let crc = entry.isDeflated ? entry.crc : crc32(of: text)
        guard crc == entry.crc else { throw entry.damaged(expected: "CRC-32 \(entry.crc)", found: "\(crc)") }
        let found = SHA256Digest(hashing: text)
        try check(1, found == listed.sha256, expected: "SHA-256 \(listed.sha256)", found: found.hex)
        return try payload(parsing: text)
    }

    private func check(
        _ index: Int, _ isRight: Bool, expected: @autoclosure () -> String, found: @autoclosure () -> String
    ) throws(Failure) {
        guard !isRight else { return }
        throw Failure(
            .damaged, file: name, entry: directory.name(at: index),
            expected: "\(expected()), as in the manifest", found: found())
    }

    private func verify(
        _ index: Int, size: Int, sha256: SHA256Digest?, with inflater: Inflater? = nil
    ) throws(Failure) {
        let entry = try entry(index)
        try check(index, entry.size == size, expected: "\(size) bytes", found: "\(entry.size)")
        var hasher = ContentHasher()
        do {
            try entry.read(with: inflater) { hasher.update($0) }
        } catch let error as Failure where !error.place.isEmpty {
            throw error
        } catch {
            throw Failure(
                .damaged, file: name, entry: directory.name(at: index), found: "the entry cannot be read: \(error)")
        }
        let found = hasher.finish()
        if let sha256 { try check(index, found == sha256, expected: "SHA-256 \(sha256)", found: found.hex) }
    }

    /// Checks that the manifest lists exactly the attachments in the records.
    private func checkFiles(_ manifest: Manifest, _ records: RecordTable) throws(Failure) {
        let named = try Manifest.files(namedBy: records, file: name)
        let listed = manifest.files
        for index in 0..<max(named.count, listed.count) {
            let wanted = index < named.count ? named[index] : nil
            let found = index < listed.count ? listed[index] : nil
            guard wanted != found.map({ Manifest.file($0, omitted: nil) }) else { continue }
            func text(_ file: Manifest.File?) -> String {
                file.map { "\($0.sha256) of \($0.size) bytes at \($0.location)" } ?? "none"
            }
            throw Failure(
                .damaged, file: name, entry: "\(BundleFormat.manifest): files[\(index)]",
                expected: "\(text(wanted)), as in the records", found: text(found))
        }
    }
}
