import RemoteSettingsModel
import SnapshotTrust

extension LockFile {
    /// Reads a lock's text. No I/O.
    ///
    /// The version is the first key and is checked first. Unknown keys, missing keys, wrong types, values that
    /// contradict each other, and paths that do not follow from the collection's name are refused.
    ///
    /// - Parameter path: the lock's path for error messages.
    /// - Throws: ``BundleError`` with the line and the key path.
    package init(parsing text: Bytes, path: String, limits: Limits = Limits()) throws(BundleError) {
        guard text.count <= Limits.lockBytes else {
            throw BundleError(
                .overLimit, file: path, expected: "at most \(Limits.lockBytes) bytes (Limits.lockBytes)",
                found: "\(text.count)")
        }
        var reader = LockReader(text, file: path, limits: limits)
        var isVersionRead = false
        var collections: [CollectionID: Collection] = [:]
        var release: Release?
        try reader.object(["version", "collections"]) { (reader, key) throws(BundleError) in
            guard isVersionRead || key == "version" else {
                throw reader.failure(expected: "\"version\" as the first key", found: String(reflecting: key))
            }
            switch key {
            case "version":
                let version = try reader.integer()
                guard version == UInt64(Self.version) else {
                    throw reader.failure(.unknownVersion, expected: "version \(Self.version)", found: "\(version)")
                }
                isVersionRead = true
            case "release": release = try Release(&reader)
            case "collections":
                try reader.object { (reader, key) throws(BundleError) in
                    let id = try Result { () throws(InvalidIdentifier) in try CollectionID(key) }
                        .mapError { reader.failure(expected: $0.expected, found: String(reflecting: $0.found)) }.get()
                    collections[id] = try Collection(&reader, of: id)
                    return true
                }
            default: return false
            }
            return true
        }
        try reader.finish()
        self.init(collections: collections, release: release)
    }
}

extension LockFile.Release {
    fileprivate init(_ reader: inout LockReader) throws(BundleError) {
        var origin: OriginName?
        var number: UInt64 = 0
        try reader.object(["origin", "number"]) { (reader, key) throws(BundleError) in
            switch key {
            case "origin":
                let text = try reader.string()
                origin = OriginName(text)
                if origin == nil { throw reader.failure(expected: OriginName.rule, found: String(reflecting: text)) }
            case "number":
                number = try reader.integer()
                guard 1...Catalogue.highestNumber ~= number else {
                    throw reader.failure(expected: "a number from 1 to \(Catalogue.highestNumber)", found: "\(number)")
                }
            default: return false
            }
            return true
        }
        guard let origin else { throw reader.failure(expected: "an origin", found: "none") }
        self.init(origin: origin, number: number)
    }
}

extension LockFile {
    /// Reads only the version and one collection's entry from a lock's text. No I/O.
    ///
    /// It is meant for a lock that is as trusted as the program, if reading all of it would take longer than reading
    /// the collection. The entry is found by its quoted key and the colon after it, which cannot occur elsewhere in a
    /// lock.
    ///
    /// - Returns: `nil` if the lock has no such collection.
    /// - Throws: ``BundleError``, as ``init(parsing:path:limits:)``; lines are counted from the entry on.
    package static func collection(
        _ id: CollectionID, in text: Bytes, path: String, limits: Limits = Limits()
    ) throws(BundleError) -> Collection? {
        guard text.count <= Limits.lockBytes else {
            return try LockFile(parsing: text, path: path, limits: limits).collections[id]
        }
        var head = LockReader(text, file: path, limits: limits)
        let version = try head.version()
        guard version == UInt64(Self.version) else {
            throw head.failure(.unknownVersion, expected: "version \(Self.version)", found: "\(version)")
        }
        let key = "\"\(id)\":".utf8
        guard let found = text.withSpan({ ByteSearch(key).first(in: $0) }) else { return nil }
        var reader = LockReader(text[found + key.count..<text.count], file: "\(path): \(id)", limits: limits)
        return try Collection(&reader, of: id)
    }
}

extension LockFile.Collection {
    private static let keys = [
        "server", "timestamp", "lastModified", "records", "attachments", "attachmentRule", "omitted", "content",
        "bundle", "trust",
    ]

    fileprivate init(_ reader: inout LockReader, of id: CollectionID) throws(BundleError) {
        var attachmentRule = ""
        var (server, timestamp, lastModified) = ("", Timestamp(milliseconds: 0), Timestamp(milliseconds: 0))
        var (records, attachments) = (0, 0)
        var omitted: [Omission] = []
        var (content, bundle): (SHA256Digest?, LockFile.Bundle?)
        var trust = Provenance.unsigned
        try reader.object(Self.keys) { (reader, key) throws(BundleError) in
            switch key {
            case "server": server = try reader.string()
            case "timestamp": timestamp = Timestamp(milliseconds: try reader.integer())
            case "lastModified": lastModified = try reader.time()
            case "records": records = try reader.count()
            case "attachments": attachments = try reader.count()
            case "attachmentRule": attachmentRule = try reader.string()
            case "omitted":
                try reader.array { (reader) throws(BundleError) in omitted.append(try Omission(&reader)) }
            case "content": content = try reader.digest()
            case "bundle": bundle = try LockFile.Bundle(&reader, of: id)
            case "trust": trust = try Provenance(&reader)
            default: return false
            }
            return true
        }
        guard timestamp == lastModified else {
            throw reader.failure(
                expected: "lastModified \(timestamp.rfc3339), as the timestamp says",
                found: lastModified.rfc3339)
        }
        guard zip(omitted, omitted.dropFirst()).allSatisfy({ $0.reason < $1.reason }) else {
            throw reader.failure(expected: "omissions sorted by reason, each once", found: "another order")
        }
        guard let content, let bundle else { throw reader.failure(expected: "content and bundle", found: "none") }
        self.init(
            server: server, timestamp: timestamp, records: records, attachments: attachments,
            attachmentRule: attachmentRule, omitted: omitted, content: content, bundle: bundle, trust: trust)
    }
}

extension Omission {
    fileprivate init(_ reader: inout LockReader) throws(BundleError) {
        var reason: OmissionReason?
        var (count, bytes) = (0, 0)
        try reader.object(["reason", "count", "bytes"]) { (reader, key) throws(BundleError) in
            switch key {
            case "reason":
                let word = try reader.string()
                reason = OmissionReason(word)
                if reason == nil {
                    throw reader.failure(expected: "lower-case letters, digits and -", found: String(reflecting: word))
                }
            case "count": count = try reader.count()
            case "bytes": bytes = try reader.count()
            default: return false
            }
            return true
        }
        guard let reason else { throw reader.failure(expected: "a reason", found: "none") }
        self.init(reason: reason, count: count, bytes: bytes)
    }
}

extension LockFile.Bundle {
    fileprivate init(_ reader: inout LockReader, of id: CollectionID) throws(BundleError) {
        var size = 0
        var sha256: SHA256Digest?
        try reader.object(["path", "size", "sha256"]) { (reader, key) throws(BundleError) in
            switch key {
            case "path":
                let path = try reader.string()
                guard path == Self.path(of: id) else {
                    throw reader.failure(expected: "\"\(Self.path(of: id))\"", found: String(reflecting: path))
                }
            case "size": size = try reader.count()
            case "sha256": sha256 = try reader.digest()
            default: return false
            }
            return true
        }
        guard let sha256 else { throw reader.failure(expected: "sha256", found: "none") }
        self.init(collection: id, size: size, sha256: sha256)
    }
}

extension Provenance {
    fileprivate init(_ reader: inout LockReader) throws(BundleError) {
        if try reader.isString() {
            switch try reader.string() {
            case "unsigned": self = .unsigned
            case "imported": self = .imported
            case let other:
                throw reader.failure(
                    expected: "\"unsigned\", \"imported\" or {\"signed\": …}", found: String(reflecting: other))
            }
            return
        }
        var verdict: SignatureVerdict?
        try reader.object(["signed"]) { (reader, key) throws(BundleError) in
            guard key == "signed" else { return false }
            verdict = try SignatureVerdict(&reader)
            return true
        }
        guard let verdict else { throw reader.failure(expected: "\"signed\"", found: "none") }
        self = .signed(verdict)
    }
}

extension SignatureVerdict {
    fileprivate init(_ reader: inout LockReader) throws(BundleError) {
        var signer = ""
        var root: SHA256Digest?
        var (chainNotAfter, verifiedAt) = (Timestamp(milliseconds: 0), Timestamp(milliseconds: 0))
        try reader.object(["signer", "root", "chainNotAfter", "verifiedAt"]) { (reader, key) throws(BundleError) in
            switch key {
            case "signer": signer = try reader.string()
            case "root": root = try reader.digest()
            case "chainNotAfter": chainNotAfter = try reader.time()
            case "verifiedAt": verifiedAt = try reader.time()
            default: return false
            }
            return true
        }
        guard let root else { throw reader.failure(expected: "root", found: "none") }
        self.init(signer: signer, root: root, chainNotAfter: chainNotAfter, verifiedAt: verifiedAt)
    }
}
