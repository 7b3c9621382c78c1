/// A file that belongs to a record, as described by the member `attachment` of the record's JSON.
package struct RecordAttachment: Hashable, Sendable {
    /// The file's location, relative to the server's `capabilities.attachments.base_url`.
    @ExactString package private(set) var location: String
    /// The SHA-256 of the file's bytes.
    package let hash: SHA256Digest
    /// The size in bytes. A size from a record is at most ``mostBytes``.
    package let size: UInt64
    @ExactString package private(set) var filename: String
    @ExactString package private(set) var mimetype: String

    /// The largest size that a record may state, in bytes.
    ///
    /// Every JSON parser represents whole numbers up to this one exactly (RFC 7493 §2.2), and no file is that large.
    static let mostBytes: UInt64 = 1 << 53

    package init(location: String, hash: SHA256Digest, size: UInt64, filename: String, mimetype: String) {
        self.location = location
        self.hash = hash
        self.size = size
        self.filename = filename
        self.mimetype = mimetype
    }

    /// Parses a record's member `attachment`. Does no I/O.
    ///
    /// - Throws: ``Failure/invalidAttachment(record:problem:)`` if the location, the hash or the size is missing or
    ///   wrong.
    init(_ value: JSONValue, record: String) throws(Failure) {
        func invalid(_ problem: String) -> Failure { .invalidAttachment(record: record, problem: problem) }
        guard case .object = value else { throw invalid("it must be an object") }
        guard let location = value["location"]?.string, !location.isEmpty else { throw invalid("it has no location") }
        guard let hex = value["hash"]?.string, let hash = SHA256Digest(hex: hex) else {
            throw invalid("its hash must be a SHA-256 hash of 64 lowercase hexadecimal digits")
        }
        guard let size = value["size"]?.number?.uint64 else { throw invalid("its size must be a non-negative integer") }
        guard size <= Self.mostBytes else {
            throw invalid("its size, \(size), is over 2^53 bytes; ask the collection's owner to correct it")
        }
        self.init(
            location: location, hash: hash, size: size, filename: value["filename"]?.string ?? "",
            mimetype: value["mimetype"]?.string ?? "")
    }
}

/// An attachment to fetch: its location on the server, its expected hash and size, and the record that it belongs to.
package struct WantedAttachment: Hashable, Sendable {
    package var digest: SHA256Digest
    /// The size in bytes.
    package var size: Int
    /// The location, relative to the server's `capabilities.attachments.base_url`.
    @ExactString package var location: String
    /// The record's id.
    package var record: String

    package init(digest: SHA256Digest, size: Int, location: String, record: String) {
        self.digest = digest
        self.size = size
        self.location = location
        self.record = record
    }
}
