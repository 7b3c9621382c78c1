import RemoteSettingsModel

/// A collection's state as a file: a line of JSON about the snapshot, then its canonical payload up to the file's end.
///
/// Anyone who can write to the storage directory can write such a file. Its content is believed only after the
/// signature has been verified again.
package struct CacheFile: Sendable {
    static let format: UInt64 = 1
    /// The first line has nine members; later versions may have more.
    private static let mostHeadValues = 64

    package var collection: CollectionID
    package var server: String
    package var timestamp: Timestamp
    /// The newest timestamp that was ever stored, which nothing signs. See
    /// ``CurrentState/floor(of:_:)`` for when it counts.
    package var highWaterMark: Timestamp
    /// When the chain was verified; `nil` if nothing is signed.
    package var verifiedAt: Timestamp?
    /// The collection's metadata, byte for byte as served.
    package var metadata: Bytes
    package var chain: Bytes?
    package var payload: Bytes
}

/// The newest timestamp that was ever stored of a collection, as a cache file states it.
struct HighWaterMark: Hashable, Sendable {
    let timestamp: Timestamp
    /// The chains that vouched for the state; `nil` if nothing was signed.
    let chain: Bytes?
    let verifiedAt: Timestamp?
}

extension CacheFile {
    var mark: HighWaterMark { HighWaterMark(timestamp: highWaterMark, chain: chain, verifiedAt: verifiedAt) }

    init(_ snapshot: Snapshot, server: String) {
        self.init(
            collection: snapshot.collection, server: server, timestamp: snapshot.timestamp,
            highWaterMark: snapshot.timestamp,
            verifiedAt: snapshot.provenance.verdict?.verifiedAt, metadata: snapshot.metadata.json,
            chain: snapshot.chain, payload: snapshot.payload.bytes)
    }

    /// The file's content.
    package var bytes: Bytes {
        func member(_ key: String, _ value: JSONValue) -> JSONValue.Member { .init(key: key, value: value) }
        func number(_ timestamp: Timestamp) -> JSONValue { .number(JSONNumber(timestamp.milliseconds)) }
        var members = [
            member("format", .number(JSONNumber(Self.format))), member("collection", .string("\(collection)")),
            member("server", .string(server)), member("timestamp", number(timestamp)),
            member("highWaterMark", number(highWaterMark)),
            member("payloadBytes", .number(JSONNumber(payload.count))), member("metadata", .string(metadata.text)),
        ]
        if let verifiedAt { members.append(member("verifiedAt", number(verifiedAt))) }
        if let chain { members.append(member("chain", .string(chain.text))) }
        var content = JSONText.compact(.object(members))
        content.reserveCapacity(content.count + 1 + payload.count)
        content.append(UInt8(ascii: "\n"))
        unsafe payload.withUnsafeBytes { unsafe content.append(contentsOf: $0) }
        return Bytes(content)
    }
}

/// Why a file is not a collection's cache file.
package struct CacheFileError: Error, CustomStringConvertible {
    let path: String
    let problem: String
    /// What the first line says of the state, if it could be read.
    var mark: HighWaterMark?
    /// Whether a later version of the library has written the file, in a newer format.
    var isOfLaterFormat = false

    package var description: String {
        isOfLaterFormat
            ? "\(path): \(problem), which a later version of the library has written; the file is left as it is"
            : "\(path): \(problem); the file is set aside, and the next sync writes a new one"
    }
}

extension CacheFile {
    /// - Throws: ``CacheFileError`` if it is not such a file, or of another collection.
    package init(parsing content: Bytes, of id: CollectionID, path: String, limits: Limits) throws(CacheFileError) {
        let (head, end) = try Self.head(
            parsing: content, fileSize: content.count, of: id, path: path, limits: limits)
        self = head
        payload = content[end + 1..<content.count]
    }

    /// What a file says of itself in its first line, without the payload. Nothing of it is verified.
    ///
    /// - Parameters:
    ///   - beginning: the file's first bytes.
    ///   - fileSize: the size of the whole file in bytes.
    /// - Returns: the file with an empty payload, and the position of the end of the first line.
    /// - Throws: ``CacheFileError`` if it is not such a file, or of another collection.
    static func head(
        parsing beginning: Bytes, fileSize: Int, of id: CollectionID, path: String, limits: Limits
    ) throws(CacheFileError) -> (head: CacheFile, end: Int) {
        func failure(_ problem: String) -> CacheFileError { CacheFileError(path: path, problem: problem) }
        let end = beginning.withSpan { span in
            (0..<min(span.count, limits.cacheHeadBytes)).first { span[$0] == UInt8(ascii: "\n") }
        }
        guard let end else {
            throw failure(
                "expected a line of JSON of at most \(limits.cacheHeadBytes) bytes (Limits.cacheHeadBytes), found no end "
                    + "of line")
        }
        let head: JSONValue
        do throws(JSONError) {
            var limits = limits
            limits.jsonValues = Self.mostHeadValues
            head = try JSONValue(parsing: beginning[0..<end], limits: limits)
        } catch {
            throw failure("expected a line of JSON, found \(error)")
        }
        func time(_ key: String) -> Timestamp? { head[key]?.number?.uint64.map(Timestamp.init(milliseconds:)) }
        let mark = time("highWaterMark")
        let chain = (head["chain"]?.string).map { Bytes(utf8: $0) }
        /// An error about a file whose first line could be read.
        func damage(_ problem: String) -> CacheFileError {
            CacheFileError(
                path: path, problem: problem,
                mark: mark.map { HighWaterMark(timestamp: $0, chain: chain, verifiedAt: time("verifiedAt")) })
        }
        let payloadSize = fileSize - end - 1
        // The other members of a later format's first line are not known.
        if let format = head["format"]?.number?.uint64, format > Self.format {
            var error = damage("expected format \(Self.format), found \(format)")
            error.isOfLaterFormat = true
            throw error
        }
        guard let format = head["format"]?.number?.uint64, let timestamp = time("timestamp"), let mark,
            let server = head["server"]?.string, let metadata = head["metadata"]?.string
        else { throw damage("its first line lacks a member, or one has the wrong type") }
        guard format == Self.format else {
            throw damage("expected format \(Self.format), found \(format)")
        }
        guard head["collection"]?.string == "\(id)" else {
            throw failure("expected the collection \(id), found \(head["collection"]?.string ?? "none")")
        }
        guard head["payloadBytes"]?.number?.uint64 == UInt64(clamping: payloadSize) else {
            throw damage("its payload has \(payloadSize) bytes, which is not what its first line says")
        }
        let file = CacheFile(
            collection: id, server: server, timestamp: timestamp, highWaterMark: mark, verifiedAt: time("verifiedAt"),
            metadata: Bytes(utf8: metadata), chain: chain, payload: Bytes())
        return (file, end)
    }
}
