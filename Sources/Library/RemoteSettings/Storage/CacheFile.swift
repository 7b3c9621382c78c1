import RemoteSettingsModel
import SnapshotBundle

/// A collection's state as a file: a line of JSON about the snapshot, then its canonical payload up to the file's end.
///
/// It is named by its hash and never modified. Anyone who can write to the storage directory can write such a file. Its
/// content is believed only after the signature has been verified again.
package struct CacheFile: Sendable {
    static let format: UInt64 = 1
    /// The first line has nine members at most; later versions may have more.
    private static let mostHeadValues = 64

    package var collection: CollectionID
    package var server: String
    package var timestamp: Timestamp
    /// When the chain was verified; `nil` if nothing is signed.
    package var verifiedAt: Timestamp?
    /// The collection's metadata, byte for byte as served.
    package var metadata: Bytes
    package var chain: Bytes?
    package var payload: Bytes
    /// The publisher whose catalogue it is; `nil` for everything else.
    package var publisher: String?
}

extension CacheFile {
    init(_ snapshot: Snapshot, server: String, publisher: String? = nil) {
        self.init(
            collection: snapshot.collection, server: server, timestamp: snapshot.timestamp,
            verifiedAt: snapshot.provenance.verdict?.verifiedAt, metadata: snapshot.metadata.json,
            chain: snapshot.chain, payload: snapshot.payload.bytes, publisher: publisher)
    }

    /// The file's content.
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
        if let publisher { members.append(member("publisher", .string(publisher))) }
        var content = JSONText.compact(.object(members))
        content.reserveCapacity(content.count + 1 + payload.count)
        content.append(UInt8(ascii: "\n"))
        unsafe payload.withUnsafeBytes { unsafe content.append(contentsOf: $0) }
        return Bytes(content)
    }
}

extension CacheFile {
    /// - Parameter id: the collection that it must be of; `nil` if any will do.
    /// - Throws: ``BundleError`` if it is not such a file, or of another collection.
    package init(parsing content: Bytes, of id: CollectionID?, path: String, limits: Limits) throws(BundleError) {
        func failure(_ problem: String) -> BundleError { .cacheFile(path, problem) }
        let end = content.withSpan { span in
            (0..<min(span.count, limits.cacheHeadBytes)).first { span[$0] == UInt8(ascii: "\n") }
        }
        guard let end else {
            throw failure(
                "its first line is longer than \(limits.cacheHeadBytes) bytes (Limits.cacheHeadBytes)")
        }
        let head: JSONValue
        do throws(FormatError) {
            var limits = limits
            limits.jsonValues = Self.mostHeadValues
            head = try JSONValue(parsing: content[0..<end], limits: limits)
        } catch {
            throw failure("its first line is not valid JSON: \(error)")
        }
        guard let format = head["format"]?.number?.uint64, let timestamp = head.time("timestamp"),
            let server = head["server"]?.string, let metadata = head["metadata"]?.string,
            let name = head["collection"]?.string, let collection = try? CollectionID(name)
        else { throw failure("a member of its first line is missing or has the wrong type") }
        guard format == Self.format else { throw failure("expected format \(Self.format), found \(format)") }
        guard id == nil || id == collection else {
            throw failure("expected the collection \(id.map { "\($0)" } ?? ""), found \(collection)")
        }
        let payload = content[end + 1..<content.count]
        guard head["payloadBytes"]?.number?.uint64 == UInt64(payload.count) else {
            throw failure("its payload is \(payload.count) bytes, which does not match its first line")
        }
        self.init(
            collection: collection, server: server, timestamp: timestamp, verifiedAt: head.time("verifiedAt"),
            metadata: Bytes(utf8: metadata), chain: (head["chain"]?.string).map { Bytes(utf8: $0) }, payload: payload,
            publisher: head["publisher"]?.string)
    }
}

extension BundleError {
    /// A file is not a collection's cache file.
    static func cacheFile(_ path: String, _ problem: String) -> Self {
        Self(.damaged, file: path, found: problem, remedy: "the next sync writes a new one")
    }
}
