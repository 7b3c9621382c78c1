import RemoteSettingsModel

/// Reads a lock's JSON strictly; errors name the line and the key path.
struct LockReader {
    private var reader: JSONReader
    private let file: String
    private var keys: [String] = []

    init(_ text: Bytes, file: String, limits: Limits) {
        reader = JSONReader(text, limits: limits)
        self.file = file
    }

    func failure(_ kind: BundleError.Kind = .malformedLock, expected: String, found: String) -> BundleError {
        failure(kind, at: reader.offset, expected: expected, found: found)
    }

    private func failure(_ kind: BundleError.Kind, at offset: Int, expected: String, found: String) -> BundleError {
        let line = JSONError(.unexpectedEnd, at: offset).line(in: reader.document)
        let path = keys.isEmpty ? "" : ", " + keys.joined(separator: ".")
        return BundleError(kind, file: file, entry: "line \(line)\(path)", expected: expected, found: found)
    }

    private mutating func json<Value>(
        _ body: (inout JSONReader) throws(JSONError) -> Value
    ) throws(BundleError) -> Value {
        do throws(JSONError) {
            return try body(&reader)
        } catch {
            if case .wrongType(let expected, let found) = error.reason {
                throw failure(.malformedLock, at: error.offset, expected: expected, found: found)
            }
            throw failure(
                .malformedLock, at: error.offset, expected: "the JSON of a lock", found: error.reason.description)
        }
    }

    /// Reads an object. `member` reads the value of a key, or returns `false` for an unknown key.
    ///
    /// - Parameter required: keys that must be there.
    mutating func object(
        _ required: [String] = [], _ member: (inout LockReader, String) throws(BundleError) -> Bool
    ) throws(BundleError) {
        try json { (reader) throws(JSONError) in try reader.beginObject() }
        var seen: Set<String> = []
        while let key = try json({ (reader) throws(JSONError) in try reader.nextKey() }) {
            seen.insert(key)
            keys.append(key)
            guard try member(&self, key) else {
                throw failure(
                    .unknownVersion, expected: "a key of version \(LockFile.version)", found: "an unknown one")
            }
            keys.removeLast()
        }
        if let missing = required.first(where: { !seen.contains($0) }) {
            throw failure(expected: "the key \"\(missing)\"", found: "none")
        }
    }

    /// Reads the beginning of a lock as far as its version.
    mutating func version() throws(BundleError) -> UInt64 {
        try json { (reader) throws(JSONError) in try reader.beginObject() }
        let key = try json { (reader) throws(JSONError) in try reader.nextKey() }
        guard key == "version" else {
            throw failure(expected: "\"version\" as the first key", found: key.map { String(reflecting: $0) } ?? "none")
        }
        return try integer()
    }

    /// Reads an array; `element` reads one element.
    mutating func array(_ element: (inout LockReader) throws(BundleError) -> Void) throws(BundleError) {
        try json { (reader) throws(JSONError) in try reader.beginArray() }
        var index = 0
        while try json({ (reader) throws(JSONError) in try reader.nextElement() }) {
            keys.append("[\(index)]")
            try element(&self)
            keys.removeLast()
            index += 1
        }
    }

    mutating func finish() throws(BundleError) {
        try json { (reader) throws(JSONError) in try reader.finish() }
    }

    mutating func string() throws(BundleError) -> String {
        try json { (reader) throws(JSONError) in try reader.string() }
    }

    mutating func integer() throws(BundleError) -> UInt64 {
        try json { (reader) throws(JSONError) in try reader.unsignedInteger() }
    }

    mutating func count() throws(BundleError) -> Int {
        let value = try integer()
        guard let count = Int(exactly: value) else { throw failure(expected: "a count", found: "\(value)") }
        return count
    }

    mutating func digest() throws(BundleError) -> SHA256Digest {
        let text = try string()
        guard let digest = SHA256Digest(hex: text) else {
            throw failure(expected: "64 lower-case hexadecimal digits", found: String(reflecting: text))
        }
        return digest
    }

    mutating func time() throws(BundleError) -> Timestamp {
        let text = try string()
        guard let time = Timestamp(rfc3339: text), time.rfc3339 == text else {
            throw failure(expected: "a time such as 2026-11-21T08:48:13.000Z", found: String(reflecting: text))
        }
        return time
    }

    /// Whether the next value is a string, without reading it.
    mutating func isString() throws(BundleError) -> Bool {
        var ahead = reader
        do throws(JSONError) {
            _ = try ahead.string()
            return true
        } catch {
            guard case .wrongType = error.reason else {
                throw failure(expected: "a string", found: error.reason.description)
            }
            return false
        }
    }
}
