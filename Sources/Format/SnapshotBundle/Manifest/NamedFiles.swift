import RemoteSettingsModel

extension Manifest {
    /// Returns the attachments in the records, grouped by hash and location, in the order of a manifest.
    ///
    /// - Parameter file: the bundle's name for error messages.
    /// - Throws: ``Failure`` if a record's attachment is invalid, or if records have different sizes for the same
    ///   hash.
    package static func files(namedBy records: RecordTable, file: String) throws(Failure) -> [File] {
        var named: [File] = []
        for record in records {
            let attachment = try mapFailure(of: try record.attachment()) {
                Failure(
                    .malformed, file: file, entry: "\(BundleFormat.records): record \(record.id)",
                    found: "\($0.description)")
            }
            guard let attachment else { continue }
            guard let size = Int(exactly: attachment.size) else {
                throw Failure(
                    .overLimit, file: file, entry: "\(BundleFormat.records): record \(record.id)",
                    expected: "an attachment of at most \(Int.max) bytes", found: "\(attachment.size)")
            }
            named.append(
                File(
                    sha256: attachment.hash, size: size, location: attachment.location, records: [record.id],
                    omitted: nil))
        }
        // Sort by id last, so that the ids of each file are sorted too.
        named.sort { left, right in
            if left.precedes(right) { return true }
            if right.precedes(left) { return false }
            return left.records[0].utf8.lexicographicallyPrecedes(right.records[0].utf8)
        }
        var files: [File] = []
        files.reserveCapacity(named.count)
        var start = 0
        while start < named.count {
            let first = named[start]
            if let last = files.last, last.sha256 == first.sha256, last.size != first.size {
                throw sizes(last, first, file: file)
            }
            var end = start + 1
            while end < named.count, named[end].sha256 == first.sha256,
                named[end].location.exact == first.location.exact
            {
                guard named[end].size == first.size else { throw sizes(first, named[end], file: file) }
                end += 1
            }
            files.append(
                File(
                    sha256: first.sha256, size: first.size, location: first.location,
                    records: named[start..<end].map { $0.records[0] }, omitted: nil))
            start = end
        }
        return files
    }

    private static func sizes(_ left: File, _ right: File, file: String) -> Failure {
        Failure(
            .damaged, file: file, entry: "\(BundleFormat.records): record \(right.records[0])",
            expected: "size \(left.size) for \(right.sha256), as in record \(left.records[0])",
            found: "\(right.size)")
    }

    /// Returns a copy of a file with this omission reason; `nil` if the bundle contains the file.
    package static func file(_ file: File, omitted: OmissionReason?) -> File {
        File(sha256: file.sha256, size: file.size, location: file.location, records: file.records, omitted: omitted)
    }

    /// The files that the bundle contains, without duplicates.
    package var packed: [File] {
        var previous: SHA256Digest?
        return files.filter { file in
            defer { previous = file.sha256 }
            return file.omitted == nil && file.sha256 != previous
        }
    }

    /// The omitted files, by reason. Each file is counted once.
    package var omissions: [Omission] {
        var sums: [OmissionReason: (count: Int, bytes: Int)] = [:]
        var previous: SHA256Digest?
        for file in files where file.sha256 != previous {
            previous = file.sha256
            guard let reason = file.omitted else { continue }
            let sum = sums[reason] ?? (0, 0)
            sums[reason] = (sum.count + 1, sum.bytes.saturatingAdding(file.size))
        }
        return sums.sorted { $0.key < $1.key }.map { reason, sum in
            Omission(reason: reason, count: sum.count, bytes: sum.bytes)
        }
    }
}

/// The number of attachment files that were omitted for one reason, and their total size.
package struct Omission: Hashable, Sendable {
    package let reason: OmissionReason
    package let count: Int
    package let bytes: Int
}
