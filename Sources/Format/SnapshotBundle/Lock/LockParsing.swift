import RemoteSettingsModel

extension LockFile {
    /// Parses the text of a lock file. Does no I/O.
    ///
    /// The version must be the first key and is checked first. These are errors: unknown keys, missing keys, keys in a
    /// different order, wrong types, values that contradict each other, and paths that are not derived from the
    /// collection's name.
    ///
    /// - Parameter path: the lock file's path for error messages.
    /// - Throws: ``Failure`` with the line and the key path.
    package init(parsing text: Bytes, path: String) throws(Failure) {
        guard text.count <= Limits.lockBytes else {
            throw Failure(
                .overLimit, file: path, expected: "at most \(Limits.lockBytes) bytes (Limits.lockBytes)",
                found: "\(text.count)")
        }
        try LargeFilePointer.refuse(text, file: path, expected: "a lock file")
        var reader = DocumentReader(lock: text, file: path)
        try self.init(&reader)
        try reader.finish()
    }

    init(_ reader: inout DocumentReader) throws(Failure) {
        self.init()
        try reader.begin()
        try reader.version("version", is: Self.version)
        let hasCatalogue = reader.isNext("catalogue")
        if hasCatalogue { try reader.skip("catalogue") }
        collections = try reader.member("collections") { (reader) throws(Failure) in
            var collections: [CollectionID: Collection] = [:]
            try reader.members { (reader, key) throws(Failure) in
                let id = try reader.collection(key)
                guard collections[id] == nil else { throw reader.failure(found: "this collection is listed twice") }
                collections[id] = try Collection(&reader, of: id)
            }
            return collections
        }
        try reader.end()
        if hasCatalogue, let id = collections.keys.first(where: { "\($0)" == "publisher/catalogue" }) {
            collections[id] = nil
            retired = id
        }
    }

    /// Parses only the version and one collection's entry of a lock file. Does no I/O.
    ///
    /// Use it for a lock file that is part of the trusted program, where parsing the whole file would take longer than
    /// reading the collection. The entry is found by its quoted key and the colon after it, which cannot occur
    /// elsewhere in a lock file.
    ///
    /// - Returns: `nil` if the lock file does not list the collection.
    /// - Throws: the errors of ``init(parsing:path:)``. In errors about the entry, line 1 is its first line.
    package static func collection(_ id: CollectionID, in text: Bytes, path: String) throws(Failure) -> Collection? {
        guard text.count <= Limits.lockBytes else { return try LockFile(parsing: text, path: path).collections[id] }
        var head = DocumentReader(lock: text, file: path)
        try head.begin()
        try head.version("version", is: Self.version)
        let key = "\"\(id)\":".utf8
        guard let found = text.withSpan({ ByteSearch(key).first(in: $0) }) else { return nil }
        var reader = DocumentReader(lock: text[found + key.count..<text.count], file: "\(path): \(id)")
        return try Collection(&reader, of: id)
    }
}

extension LockFile.Collection {
    /// The largest number of accepted guards. There are about a dozen guards.
    private static let mostAccepted = 1000

    fileprivate init(_ reader: inout DocumentReader, of id: CollectionID) throws(Failure) {
        try reader.begin()
        server = try reader.string("server")
        timestamp = try reader.number("timestamp", expected: "milliseconds") { Timestamp(milliseconds: $0) }
        let lastModified = try reader.time("lastModified")
        records = try reader.count("records")
        attachments = try reader.count("attachments")
        attachmentRule = try reader.string("attachmentRule")
        omitted = try reader.array("omitted") { (reader) throws(Failure) in try Omission(&reader) }
        content = try reader.digest("content")
        bundle = try reader.member("bundle") { (reader) throws(Failure) in try .init(&reader, of: id) }
        trust = try reader.member("trust") { (reader) throws(Failure) in try Provenance(&reader) }
        if reader.isNext("accepted") {
            accepted = try reader.array("accepted", most: Self.mostAccepted) { (reader) throws(Failure) in
                try reader.string()
            }
        }
        try reader.end()
        guard timestamp == lastModified else {
            throw reader.failure(
                expected: "lastModified \(timestamp.rfc3339), which matches the timestamp", found: lastModified.rfc3339)
        }
        guard zip(omitted, omitted.dropFirst()).allSatisfy({ $0.reason < $1.reason }) else {
            throw reader.failure(found: "the omissions must be sorted by reason, without duplicates")
        }
    }
}

extension Omission {
    fileprivate init(_ reader: inout DocumentReader) throws(Failure) {
        try reader.begin()
        reason = try reader.reason("reason")
        count = try reader.count("count")
        bytes = try reader.count("bytes")
        try reader.end()
    }
}

extension DocumentReader {
    mutating func reason(_ key: String) throws(Failure) -> OmissionReason {
        try string(key, expected: "1 to 40 lowercase letters, digits and hyphens") { OmissionReason($0) }
    }
}

extension LockFile.Bundle {
    fileprivate init(_ reader: inout DocumentReader, of id: CollectionID) throws(Failure) {
        let expected = Self.path(of: id)
        try reader.begin()
        path = try reader.string("path", expected: "\"\(expected)\"") { $0 == expected ? $0 : nil }
        size = try reader.count("size")
        sha256 = try reader.digest("sha256")
        try reader.end()
    }
}

extension Provenance {
    fileprivate init(_ reader: inout DocumentReader) throws(Failure) {
        if reader.isStringNext() {
            switch try reader.string() {
            case "unsigned": self = .unsigned
            case "imported": self = .imported
            case let other:
                throw reader.failure(
                    expected: "\"unsigned\", \"imported\" or {\"signed\": …}", found: VisibleText.quote(other))
            }
            return
        }
        try reader.begin()
        self = .signed(try reader.member("signed") { (reader) throws(Failure) in try SignatureVerdict(&reader) })
        try reader.end()
    }
}

extension SignatureVerdict {
    fileprivate init(_ reader: inout DocumentReader) throws(Failure) {
        try reader.begin()
        self.init(
            signer: try reader.string("signer"), root: try reader.digest("root"),
            chainNotAfter: try reader.time("chainNotAfter"), verifiedAt: try reader.time("verifiedAt"))
        try reader.end()
    }
}
