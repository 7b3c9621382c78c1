import RemoteSettingsModel
import SnapshotBundle

/// One collection as a server sends it: a memory-mapped bundle, and the older states that deltas can start from.
///
/// It verifies nothing, so the bundles must already have been verified. Compressed changesets and deltas are created on
/// the first request and cached.
package final class ServedCollection: Sendable {
    package let bundle: BundleReader
    package let id: CollectionID
    package let timestamp: Timestamp
    /// The older states, newest first, without duplicate timestamps.
    package let history: [BundleReader]
    let metadata: ServedMetadata
    /// The bundle's chains, each with a name that is derived from its hash.
    let chains: [(name: String, pem: Bytes)]

    private let payloadBytes = Lazily<Bytes>()
    private let recordTable = Lazily<RecordTable>()
    private let manifestFiles = Lazily<[Manifest.File]>()
    private let full = Lazily<OriginResource>()
    private let fullAsReceived = Lazily<OriginResource>()
    private let deltas = Mutex<[DeltaKey: OriginResource]>([:])

    private struct DeltaKey: Hashable {
        var since: Timestamp
        var version: APIVersion
        var withReceivedMetadata: Bool
    }

    /// Reads the bundle's metadata and chain. Does I/O.
    ///
    /// - Parameters:
    ///   - signature: the verdict in the lock file. If the metadata has signatures with several chains, it shows which
    ///     of the chains the bundle uses.
    ///   - history: older states of the same collection, in any order. States with the same or a later timestamp are
    ///     ignored.
    /// - Throws: `Failure`.
    package init(
        _ bundle: BundleReader, signature: SignatureVerdict?, history: [BundleReader], address: OriginAddress
    ) throws(Failure) {
        self.bundle = bundle
        id = bundle.head.collection
        let timestamp = bundle.head.timestamp
        self.timestamp = timestamp
        var seen: Set<Timestamp> = []
        self.history = history.sorted { $0.head.timestamp > $1.head.timestamp }
            .filter { $0.head.timestamp < timestamp && seen.insert($0.head.timestamp).inserted }
        chains =
            try bundle.chain().map { KeptChains(text: $0).chains.map { ("\(SHA256Digest(hashing: $0)).pem", $0) } }
            ?? []
        metadata = try ServedMetadata(
            bundle, signature: signature, chains: chains.map { (address.chain($0.name), $0.pem) })
    }

    /// Returns the bundle's payload. It is read in place if it is not compressed, otherwise inflated once.
    func payload() throws(Failure) -> Bytes {
        try payloadBytes.get { () throws(Failure) in try bundle.payloadText() }
    }

    func records() throws(Failure) -> RecordTable {
        let text = try payload()
        return try recordTable.get { () throws(Failure) in try bundle.payload(parsing: text).records }
    }

    /// Returns the attachments in the records, including those that the bundle does not contain.
    func files() throws(Failure) -> [Manifest.File] {
        try manifestFiles.get { () throws(Failure) in try bundle.manifest().files }
    }

    /// Returns the full changeset.
    ///
    /// - Parameter withReceivedMetadata: whether to include the metadata that this server received, if that differs.
    /// - Throws: `Failure` if the bundle's records cannot be read.
    func changeset(_ withReceivedMetadata: Bool = false) throws(Failure) -> OriginResource {
        let end = end(withReceivedMetadata)
        return try (end.isExtended ? fullAsReceived : full).get { () throws(Failure) in
            let payload = try payload()
            // The payload is `{"data":[…],"last_modified":"…"}`. The text between its brackets is also the content of
            // `changes`.
            let start = #"{"data":["#.utf8.count
            let stop = payload.count - #"],"last_modified":"\#(timestamp)"}"#.utf8.count
            guard stop >= start else {
                throw Failure(
                    .malformed, file: bundle.name, entry: "records.json",
                    found: "not a canonical payload: it is only \(payload.count) bytes")
            }
            let segments = [head, payload[start..<stop], end.json]
            return resource(.changeset, segments, tag: "\(timestamp)-\(fingerprint)\(end.tag)")
        }
    }

    /// Returns the changes since an older state; `nil` if this server does not have that state.
    ///
    /// - Throws: `Failure` if one of the two bundles cannot be read.
    package func delta(
        since: Timestamp, _ version: APIVersion, _ withReceivedMetadata: Bool = false
    ) throws(Failure) -> OriginResource? {
        let end = end(withReceivedMetadata)
        let key = DeltaKey(since: since, version: version, withReceivedMetadata: end.isExtended)
        if let known = deltas.withLock({ $0[key] }) { return known }
        guard let changes = try changes(since: since, version) else { return nil }
        let body = [head] + Bytes.list(changes.map(\.json)) + [end.json]
        let made = resource(
            .delta, [Bytes(body.flatMap(\.array))],
            tag: "\(timestamp)-\(fingerprint)-\(since)-\(version.rawValue)\(end.tag)")
        // Two tasks may both have created it. Keep only the first result.
        return deltas.withLock { deltas in
            if let known = deltas[key] { return known }
            deltas[key] = made
            return made
        }
    }

    /// Returns a v1 changeset with only the newest changes. It is not cached.
    ///
    /// No signature matches it, unless it is complete.
    ///
    /// - Returns: `nil` if this server does not have the state of `since`.
    /// - Throws: `Failure` if a bundle cannot be read.
    func changeset(since: Timestamp?, limit: Int, _ withReceivedMetadata: Bool) throws(Failure) -> OriginResource? {
        let all = try records()
        let changes =
            if let since { try changes(since: since, .v1) } else { (0..<all.count).map { ServedChange(all[$0]) } }
        guard let changes else { return nil }
        let newest = changes.sorted { $0.lastModified ?? timestamp > $1.lastModified ?? timestamp }.prefix(limit)
        let end = end(withReceivedMetadata)
        let tag = "\(timestamp)-\(fingerprint)-\(since.map { "\($0)" } ?? "")-\(newest.count)\(end.tag)"
        return resource(.delta, [head] + Bytes.list(newest.map(\.json)) + [end.json], tag: tag, isKept: false)
    }

    /// Returns the elements of a changeset's `changes`; `nil` if this server does not have the older state.
    ///
    /// New and changed records come first, then tombstones. On v2, a tombstone has no timestamp. Records are compared
    /// by their canonical bytes and never by `last_modified`, because a record's own timestamp may be wrong.
    private func changes(since: Timestamp, _ version: APIVersion) throws(Failure) -> [ServedChange]? {
        if since == timestamp { return [] }
        guard let old = history.first(where: { $0.head.timestamp == since }) else { return nil }
        var (changed, deleted): ([ServedChange], [ServedChange]) = ([], [])
        for difference in try records().differences(from: try old.payload().records) {
            switch difference {
            case .created(let record), .updated(_, let record): changed.append(ServedChange(record))
            case .deleted(let record):
                deleted.append(ServedChange(deletionOf: record.id, at: version == .v1 ? timestamp : nil))
            }
        }
        return changed + deleted
    }

    private var head: Bytes {
        Bytes(utf8: #"{"metadata":\#(metadata.json.text),"timestamp":\#(timestamp),"changes":["#)
    }

    /// Returns the last bytes of a changeset, and the suffix of its entity tag. If the client requests the metadata as
    /// received, and if that differs, the changeset also contains it, so that a mirror of a mirror has the same data.
    /// See `Changeset.mirroredMetadata`.
    private func end(_ withReceivedMetadata: Bool) -> (json: Bytes, tag: String, isExtended: Bool) {
        guard withReceivedMetadata, let received = metadata.received else { return (Bytes(utf8: "]}"), "", false) }
        return (Bytes(utf8: #"],"\#(Changeset.mirroredMetadata)":\#(received.text)}"#), "-received", true)
    }

    /// A hash of the metadata, which changes without a new timestamp when the records are signed again.
    private var fingerprint: Substring { SHA256Digest(hashing: metadata.json).hex.prefix(16) }

    private func resource(
        _ route: OriginRoute, _ segments: [Bytes], tag: String, isKept: Bool = true
    ) -> OriginResource {
        OriginResource(
            route, type: "application/json", tag: tag, lastModified: metadata.lastModified ?? timestamp,
            freshness: .seconds(60), content: .segments(segments), gzip: isKept ? .compressing : .none, isKept: isKept,
            dependsOnPreference: metadata.received != nil)
    }
}

/// One element of a changeset's `changes`.
private struct ServedChange {
    /// The time of the change; `nil` if the element does not contain it.
    let lastModified: Timestamp?
    let json: Bytes

    init(_ record: Record) {
        (lastModified, json) = (record.lastModified, record.json)
    }

    /// Creates the tombstone of a deleted record.
    init(deletionOf id: String, at time: Timestamp?) {
        let member = time.map { ",\"last_modified\":\($0)" } ?? ""
        (lastModified, json) = (time, Bytes(utf8: "{\"deleted\":true,\"id\":\"\(id)\"\(member)}"))
    }
}

extension Bytes {
    /// Returns the elements of a JSON array, separated by commas and without its brackets.
    fileprivate static func list(_ elements: [Bytes]) -> [Bytes] {
        Array(elements.map { [$0] }.joined(separator: [Bytes(utf8: ",")]))
    }
}
