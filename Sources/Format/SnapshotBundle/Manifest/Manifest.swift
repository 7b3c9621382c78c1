import RemoteSettingsModel

/// A bundle's table of contents, `manifest.json`. It lists the files in the bundle, and the omitted attachments with
/// the reasons.
///
/// The format defines every byte of its text, so a snapshot has exactly one manifest. The SHA-256 of the text
/// (``digest(of:)``, `content` in the lock file) identifies the snapshot, regardless of the compressor that wrote the
/// bundle.
package struct Manifest: Hashable, Sendable {
    /// The size and hash of `records.json`, `metadata.json` or `chain.pem`.
    package struct Entry: Hashable, Sendable {
        package let name: String
        /// The size in bytes, uncompressed.
        package let size: Int
        package let sha256: SHA256Digest

        package init(name: String, size: Int, sha256: SHA256Digest) {
            self.name = name
            self.size = size
            self.sha256 = sha256
        }
    }

    /// An attachment in the records, whether or not the bundle contains its file.
    package struct File: Hashable, Sendable {
        package let sha256: SHA256Digest
        /// The size in bytes, uncompressed.
        package let size: Int
        /// The location on the server, relative to the base URL of attachments, as in the records.
        @ExactString package private(set) var location: String
        /// The ids of the records that have this attachment, sorted.
        package let records: [String]
        /// The reason why it was omitted; `nil` if the bundle contains it.
        package let omitted: OmissionReason?
    }

    package let head: BundleHead
    package let entries: [Entry]
    /// The files, sorted by hash and then by location. A file with two locations is listed twice, but the bundle
    /// contains it only once.
    package let files: [File]

    package init(head: BundleHead, entries: [Entry], files: [File]) {
        self.head = head
        self.entries = entries
        self.files = files
    }

    /// Returns the SHA-256 of a manifest's text, which identifies the snapshot.
    package static func digest(of text: Bytes) -> SHA256Digest {
        SHA256Digest(hashing: text)
    }
}

extension Manifest {
    /// Parses the text of a manifest. Does no I/O.
    ///
    /// - Parameter file: the bundle's name for error messages.
    /// - Throws: ``Failure`` if the text differs from the only text that the format allows for its values.
    package init(parsing text: Bytes, file: String) throws(Failure) {
        guard text.count <= Limits.manifestBytes else {
            throw Failure(
                .overLimit, file: file, entry: BundleFormat.manifest,
                expected: "at most \(Limits.manifestBytes) bytes (Limits.manifestBytes)", found: "\(text.count)")
        }
        var reader = DocumentReader(manifest: text, file: file)
        try self.init(&reader)
        let prescribed = self.text
        guard Bytes(prescribed) == text else {
            let same = zip(prescribed, text.array).prefix { $0 == $1 }.count
            throw Failure(
                .malformed, file: file, entry: BundleFormat.manifest,
                found: "the text is not in canonical form from byte \(same) on")
        }
        try check(file: file)
    }

    private init(_ reader: inout DocumentReader) throws(Failure) {
        try reader.begin()
        head = try BundleHead(&reader)
        entries = try reader.array("entries") { (reader) throws(Failure) in
            try reader.begin()
            let entry = Entry(
                name: try reader.string("name"), size: try reader.count("size"), sha256: try reader.digest("sha256"))
            try reader.end()
            return entry
        }
        files = try reader.array("files") { (reader) throws(Failure) in
            try reader.begin()
            let file = File(
                sha256: try reader.digest("sha256"), size: try reader.count("size"),
                location: try reader.string("location"),
                records: try reader.array("records") { (reader) throws(Failure) in try reader.string() },
                omitted: reader.isNext("omitted") ? try reader.reason("omitted") : nil)
            try reader.end()
            return file
        }
        try reader.end()
        try reader.finish()
    }

    /// Checks that the manifest's values are consistent with each other.
    func check(file: String) throws(Failure) {
        func failure(_ place: String, expected: String? = nil, found: String) -> Failure {
            Failure(
                .damaged, file: file, entry: "\(BundleFormat.manifest): \(place)", expected: expected,
                found: found)
        }
        var names = [BundleFormat.records, BundleFormat.metadata]
        if head.trust == .signed { names.append(BundleFormat.chain) }
        guard entries.map(\.name) == names else {
            throw failure(
                "entries", expected: names.joined(separator: ", "),
                found: Counted.list(entries.map(\.name)))
        }
        var (present, omitted) = (0, 0)
        var previous: File?
        for file in files {
            let place = "\(file.sha256) \(file.location)"
            if let previous {
                guard previous.precedes(file) else {
                    throw failure(place, found: "the files must be sorted by hash and location, without duplicates")
                }
            }
            if let previous, previous.sha256 == file.sha256 {
                guard previous.size == file.size, previous.omitted == file.omitted else {
                    throw failure(place, found: "files with the same hash must have the same size and omission reason")
                }
            } else if file.omitted == nil {
                present += 1
            } else {
                omitted += 1
            }
            guard let first = file.records.first, Identifier.isValid(first.utf8),
                zip(file.records, file.records.dropFirst()).allSatisfy({
                    Identifier.isValid($1.utf8) && $0.utf8.lexicographicallyPrecedes($1.utf8)
                })
            else { throw failure(place, found: "the record ids must be valid, sorted and without duplicates") }
            previous = file
        }
        guard (present, omitted) == (head.attachments, head.omitted) else {
            throw failure(
                "files", expected: "\(head.attachments) files in the bundle and \(head.omitted) omitted",
                found: "\(present) and \(omitted)")
        }
    }
}

extension Manifest.File {
    /// Returns whether this file comes before the other one in a manifest.
    func precedes(_ other: Manifest.File) -> Bool {
        sha256 == other.sha256
            ? location.utf8.lexicographicallyPrecedes(other.location.utf8) : sha256 < other.sha256
    }
}
