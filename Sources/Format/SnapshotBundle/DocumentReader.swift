import RemoteSettingsModel

/// Parses the JSON of a manifest or a lock file, in which the members of every object have a fixed order. Errors
/// contain the line and the key path.
struct DocumentReader {
    private var reader: JSONReader
    private let file: String
    /// The entry of the file that contains the document; `nil` if the document is the whole file.
    private let entry: String?
    /// The advice for a document that does not have the required format; `nil` for the usual advice.
    private let remedy: String?
    /// The error code for an unexpected key, which a later version may have added.
    private let laterCode: Failure.Code
    private var keys: [String] = []

    /// Creates a reader for the `manifest.json` of a bundle. A later format has a different version number, so an
    /// unexpected key is malformed.
    init(manifest text: Bytes, file: String) {
        (reader, self.file, entry) = (JSONReader(text), file, BundleFormat.manifest)
        (remedy, laterCode) = (nil, .malformed)
    }

    /// The advice for a lock file that was damaged by an edit or a merge.
    private static let lockRemedy =
        "in a merge conflict, run rsdump merge; otherwise restore the file from version control, or remove it and run "
        + "rsdump refresh"

    /// Creates a reader for the lock file `file`.
    init(lock text: Bytes, file: String) {
        (reader, self.file, entry) = (JSONReader(text), file, nil)
        (remedy, laterCode) = (Self.lockRemedy, .unknownVersion)
    }

    func failure(_ code: Failure.Code = .malformed, expected: String? = nil, found: String) -> Failure {
        failure(code, at: reader.offset, expected: expected, found: found)
    }

    private func failure(_ code: Failure.Code, at offset: Int, expected: String?, found: String) -> Failure {
        let line = Failure(.unexpectedEnd, at: offset).line(in: reader.document)
        let place: [String?] = [entry, "line \(line)", keys.isEmpty ? nil : keys.joined(separator: ".")]
        return Failure(
            code, file: file, entry: place.compactMap(\.self).joined(separator: ", "), expected: expected, found: found,
            remedy: code == .malformed ? remedy : nil)
    }

    private mutating func json<Value>(_ body: (inout JSONReader) throws(Failure) -> Value) throws(Failure) -> Value {
        do throws(Failure) {
            return try body(&reader)
        } catch {
            let (expected, found) = error.mismatch ?? (nil, "not valid JSON: \(error.problem)")
            throw failure(.malformed, at: error.offset ?? reader.offset, expected: expected, found: found)
        }
    }

    /// Parses a collection's name from a string or key that was just read.
    func collection(_ name: String) throws(Failure) -> CollectionID {
        return try mapFailure(of: try CollectionID(name)) {
            failure(expected: $0.mismatch?.expected ?? "", found: VisibleText.quote(name))
        }
    }

    /// Reads the document's format version, which must be its first member, and checks it.
    mutating func version(_ key: String, is expected: Int) throws(Failure) {
        let found = try json { (reader) throws(Failure) in try reader.nextKey() }
        guard found == key else { throw failure(found: "the first key must be \"\(key)\"") }
        let version = try json { (reader) throws(Failure) in try reader.unsignedInteger() }
        guard version == UInt64(expected) else {
            throw failure(.unknownVersion, expected: "\(key) \(expected)", found: "\(version)")
        }
    }

    /// Enters an object. Then read its members, one after the other.
    mutating func begin() throws(Failure) { try json { (reader) throws(Failure) in try reader.beginObject() } }

    /// Checks that the object has no further members.
    mutating func end() throws(Failure) {
        guard let key = try json({ (reader) throws(Failure) in try reader.nextKey() }) else { return }
        throw unexpected(key, "unknown key")
    }

    mutating func finish() throws(Failure) { try json { (reader) throws(Failure) in try reader.finish() } }

    private mutating func unexpected(_ key: String, _ problem: String) -> Failure {
        keys.append(key)
        return failure(laterCode, found: problem)
    }

    /// Reads the next member, which must have this key.
    mutating func member<Value>(
        _ key: String, _ read: (inout DocumentReader) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        guard let found = try json({ (reader) throws(Failure) in try reader.nextKey() }) else {
            throw failure(found: "the key \"\(key)\" is missing")
        }
        guard found == key else { throw unexpected(found, "the key \"\(key)\" must come here") }
        keys.append(key)
        defer { keys.removeLast() }
        return try read(&self)
    }

    /// Reads all members of the next object, with any keys.
    mutating func members(_ read: (inout DocumentReader, String) throws(Failure) -> Void) throws(Failure) {
        try begin()
        while let key = try json({ (reader) throws(Failure) in try reader.nextKey() }) {
            keys.append(key)
            try read(&self, key)
            keys.removeLast()
        }
    }

    /// Skips the next member, which must have this key.
    mutating func skip(_ key: String) throws(Failure) {
        try member(key) { (document) throws(Failure) in
            _ = try document.json { (reader) throws(Failure) in try reader.skipValue() }
        }
    }

    /// Returns whether the next member has this key.
    func isNext(_ key: String) -> Bool {
        var copy = reader
        return (try? copy.nextKey()) == key
    }

    /// Reads the next member, which must be an array.
    ///
    /// - Parameter most: the largest number of elements. Set it if elements can be much shorter in the text than in
    ///   memory.
    mutating func array<Element>(
        _ key: String, most: Int = .max, _ read: (inout DocumentReader) throws(Failure) -> Element
    ) throws(Failure) -> [Element] {
        try member(key) { (document) throws(Failure) in
            try document.json { (reader) throws(Failure) in try reader.beginArray() }
            var elements: [Element] = []
            while try document.json({ (reader) throws(Failure) in try reader.nextElement() }) {
                guard elements.count < most else {
                    throw document.failure(.overLimit, expected: "at most \(most) elements", found: "more")
                }
                document.keys.append("[\(elements.count)]")
                elements.append(try read(&document))
                document.keys.removeLast()
            }
            return elements
        }
    }

    /// Reads a string.
    mutating func string() throws(Failure) -> String {
        try json { (reader) throws(Failure) in try reader.string() }
    }

    /// Returns whether the next value is a string.
    func isStringNext() -> Bool {
        var copy = reader
        return (try? copy.string()) != nil
    }

    mutating func string(_ key: String) throws(Failure) -> String {
        try string(key, expected: "a string") { $0 }
    }

    /// Reads a member whose value is a string that `value` converts; if `value` returns `nil`, the string is invalid.
    mutating func string<Value>(_ key: String, expected: String, _ value: (String) -> Value?) throws(Failure) -> Value {
        try member(key) { (document) throws(Failure) in
            let text = try document.string()
            guard let value = value(text) else {
                throw document.failure(expected: expected, found: VisibleText.quote(text))
            }
            return value
        }
    }

    /// Reads a member whose value is a number that `value` converts; if `value` returns `nil`, the number is invalid.
    mutating func number<Value>(_ key: String, expected: String, _ value: (UInt64) -> Value?) throws(Failure) -> Value {
        try member(key) { (document) throws(Failure) in
            let number = try document.json { (reader) throws(Failure) in try reader.unsignedInteger() }
            guard let value = value(number) else { throw document.failure(expected: expected, found: "\(number)") }
            return value
        }
    }

    mutating func count(_ key: String) throws(Failure) -> Int {
        try number(key, expected: "a count") { Int(exactly: $0) }
    }

    mutating func digest(_ key: String) throws(Failure) -> SHA256Digest {
        try string(key, expected: "64 lower-case hexadecimal digits") { SHA256Digest(hex: $0) }
    }

    mutating func time(_ key: String) throws(Failure) -> Timestamp {
        try string(key, expected: "a time such as 2026-11-21T08:48:13.000Z") { text in
            Timestamp(rfc3339: text).flatMap { $0.rfc3339 == text ? $0 : nil }
        }
    }
}
