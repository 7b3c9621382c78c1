import RemoteSettingsModel
import SnapshotBundle

/// The file of a collection's state: a line of JSON about the snapshot, followed by the canonical payload.
///
/// The file is named after its hash and never modified. Anyone who can write to the storage directory can create such a
/// file, so its content is trusted only after its signature has been verified again.
package struct CacheFile: Sendable {
    static let format: UInt64 = 1
    /// The maximum number of JSON values in the first line. This version writes at most nine members; later versions
    /// may write more.
    private static let mostHeadValues = 64
    /// The maximum size in bytes of the first line, which contains the metadata and the chain as JSON strings.
    private static let mostHeadBytes = 4 << 20

    package var collection: CollectionID
    package var server: String
    package var timestamp: Timestamp
    /// The time when the chain was verified; `nil` if the state is not signed.
    package var verifiedAt: Timestamp?
    /// The collection's metadata, byte for byte as served.
    package var metadata: Bytes
    package var chain: Bytes?
    package var payload: Bytes
}

extension CacheFile {
    init(_ snapshot: Snapshot, server: String) {
        self.init(
            collection: snapshot.collection, server: server, timestamp: snapshot.timestamp,
            verifiedAt: snapshot.provenance.verdict?.verifiedAt, metadata: snapshot.metadata.json,
            chain: snapshot.chain, payload: snapshot.payload.bytes)
    }

    /// The content of the file.
    package var bytes: Bytes {
        func member(_ key: String, _ value: JSONValue) -> JSONValue.Member { .init(key: key, value: value) }
        func number(_ timestamp: Timestamp) -> JSONValue { .number(JSONNumber(timestamp.milliseconds)) }
        var members = [
            member("format", .number(JSONNumber(Self.format))), member("collection", .string("\(collection)")),
            member("server", .string(server)), member("timestamp", number(timestamp)),
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

    /// Parses a file's content.
    ///
    /// - Parameter id: the collection that the file must belong to; `nil` to accept any.
    /// - Throws: ``Failure`` if it is not a cache file, or belongs to a different collection.
    package init(parsing content: Bytes, of id: CollectionID?, path: String) throws(Failure) {
        func failure(_ problem: String) -> Failure { .cacheFile(path, problem) }
        let end = content.withSpan { span in
            (0..<min(span.count, Self.mostHeadBytes)).first { span[$0] == UInt8(ascii: "\n") }
        }
        guard let end else { throw failure("the header line is missing or longer than \(Self.mostHeadBytes) bytes") }
        let head = try mapFailure(of: try JSONValue(parsing: content[0..<end], values: Self.mostHeadValues)) {
            failure("its first line is not valid JSON: \($0)")
        }
        guard let format = head["format"]?.number?.uint64, let timestamp = head.time("timestamp"),
            let server = head["server"]?.string, let metadata = head["metadata"]?.string,
            let name = head["collection"]?.string, let collection = try? CollectionID(name)
        else { throw failure("a member of its first line is missing or has the wrong type") }
        guard format == Self.format else { throw failure("expected format \(Self.format), found \(format)") }
        guard head["publisher"] == nil else { throw failure("it is the catalogue of an earlier version") }
        guard id == nil || id == collection else {
            throw failure("expected the collection \(id.map { "\($0)" } ?? ""), found \(collection)")
        }
        let payload = content[end + 1..<content.count]
        guard head["payloadBytes"]?.number?.uint64 == UInt64(payload.count) else {
            throw failure("its payload is \(payload.count) bytes, which does not match its first line")
        }
        self.init(
            collection: collection, server: server, timestamp: timestamp, verifiedAt: head.time("verifiedAt"),
            metadata: Bytes(utf8: metadata), chain: (head["chain"]?.string).map { Bytes(utf8: $0) }, payload: payload)
    }
}

extension Failure {
    /// Returns an error for a file that is not a valid cache file.
    static func cacheFile(_ path: String, _ problem: String) -> Self {
        Self(.damaged, file: path, found: problem, remedy: "the next sync writes a new file")
    }
}
