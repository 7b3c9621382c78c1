import RemoteSettingsModel
import SnapshotBundle
import Synchronization

/// One collection as an origin serves it: a bundle in place, and the older states that deltas can begin at.
///
/// Nothing is verified here: the bundles must have been verified before. A compressed changeset and each delta are made
/// on the first request for them and kept.
package final class ServedCollection: Sendable {
    package let bundle: BundleReader
    package let id: CollectionID
    package let timestamp: Timestamp
    /// Older states, newest first, each timestamp once.
    package let history: [BundleReader]
    let metadata: ServedMetadata
    let chain: (name: String, pem: Bytes)?

    private let limits: Limits
    private let payloadBytes = Lazily<Bytes>()
    private let recordTable = Lazily<RecordTable>()
    private let manifestFiles = Lazily<[Manifest.File]>()
    private let full = Lazily<OriginResource>()
    private let list = Lazily<OriginResource>()
    private let deltas = Mutex<[DeltaKey: OriginResource]>([:])

    private struct DeltaKey: Hashable {
        var since: Timestamp
        var version: APIVersion
    }

    /// Reads the bundle's metadata and chain. Does I/O.
    ///
    /// - Parameters:
    ///   - signature: the lock's verdict. Where the metadata has signatures with several chains, it shows which chain is the
    ///     bundle's.
    ///   - history: older states of the same collection, in any order; those of its own or a later timestamp are left out.
    /// - Throws: `BundleError`.
    package init(
        _ bundle: BundleReader, signature: SignatureVerdict?, history: [BundleReader], address: OriginAddress,
        limits: Limits = Limits()
    ) throws(BundleError) {
        self.bundle = bundle
        self.limits = limits
        id = bundle.head.collection
        let timestamp = bundle.head.timestamp
        self.timestamp = timestamp
        var seen: Set<Timestamp> = []
        self.history = history.sorted { $0.head.timestamp > $1.head.timestamp }
            .filter { $0.head.timestamp < timestamp && seen.insert($0.head.timestamp).inserted }
        chain = try bundle.chain().map { pem in
            // A copy, so that it does not keep the bundle's memory alive.
            ("\(SHA256Digest(hashing: pem)).pem", pem)
        }
        metadata = try ServedMetadata(
            bundle, signature: signature, chainURL: chain.map { address.chain($0.name) }, limits: limits)
    }

    /// The bundle's payload: in place where it is stored, else inflated once.
    func payload() throws(BundleError) -> Bytes {
        try payloadBytes.get { () throws(BundleError) in try bundle.payloadText() }
    }

    func records() throws(BundleError) -> RecordTable {
        let text = try payload()
        return try recordTable.get { () throws(BundleError) in try bundle.payload(parsing: text).records }
    }

    /// The attachments that the records name, whether or not the bundle has them.
    func files() throws(BundleError) -> [Manifest.File] {
        try manifestFiles.get { () throws(BundleError) in try bundle.manifest().files }
    }

    /// The full changeset.
    ///
    /// - Throws: `BundleError` where the bundle's records cannot be read.
    package func changeset() throws(BundleError) -> OriginResource {
        try full.get { () throws(BundleError) in
            let payload = try payload()
            // `{"data":[…],"last_modified":"…"}`: what lies between the brackets is what lies between those of `changes`.
            let start = #"{"data":["#.utf8.count
            let end = payload.count - #"],"last_modified":"\#(timestamp)"}"#.utf8.count
            guard end >= start else {
                throw BundleError(
                    .malformed, file: bundle.name, entry: "records.json", expected: "a canonical payload",
                    found: "\(payload.count) bytes")
            }
            let segments = [head, payload[start..<end], tail]
            return resource(.changeset, segments, tag: "\(timestamp)-\(fingerprint)")
        }
    }

    /// The changes since an older state; `nil` where that state is not known.
    ///
    /// - Throws: `BundleError` where one of the two bundles cannot be read.
    package func delta(since: Timestamp, _ version: APIVersion) throws(BundleError) -> OriginResource? {
        let key = DeltaKey(since: since, version: version)
        if let known = deltas.withLock({ $0[key] }) { return known }
        var changes: [Bytes] = []
        if since != timestamp {
            guard let old = history.first(where: { $0.head.timestamp == since }) else { return nil }
            changes = Self.changes(
                try records().differences(from: try old.payload().records),
                tombstonesAt: version == .v1 ? timestamp : nil)
        }
        var body = head.array
        for (index, change) in changes.enumerated() {
            if index > 0 { body.append(UInt8(ascii: ",")) }
            body.append(contentsOf: change.array)
        }
        body.append(contentsOf: tail.array)
        let made = resource(.delta, [Bytes(body)], tag: "\(timestamp)-\(fingerprint)-\(since)-\(version.rawValue)")
        // Two tasks may both have made it; one result is kept.
        return deltas.withLock { deltas in
            if let known = deltas[key] { return known }
            deltas[key] = made
            return made
        }
    }

    /// All records as Kinto lists them.
    func recordsDocument() throws(BundleError) -> OriginResource {
        try list.get { () throws(BundleError) in
            let payload = try payload()
            // `{"data":[…],"last_modified":"…"}` without its second member.
            let end = max(0, payload.count - #","last_modified":"\#(timestamp)"}"#.utf8.count)
            return document([payload[0..<end], Bytes(utf8: "}")], timestamp)
        }
    }

    /// - Returns: `nil` where there is no record of that id.
    func recordDocument(_ id: String) throws(BundleError) -> OriginResource? {
        guard let record = try records().record(id: id) else { return nil }
        return document(
            [Bytes(utf8: #"{"data":"#), record.json, Bytes(utf8: #","permissions":{}}"#)],
            record.lastModified ?? timestamp, isKept: false)
    }

    func metadataDocument() -> OriginResource {
        document(
            [Bytes(utf8: #"{"data":"#), metadata.json, Bytes(utf8: #","permissions":{}}"#)],
            metadata.lastModified ?? timestamp, isKept: false)
    }

    /// Kinto's entity tags are timestamps, which clients read; so there is no gzip form, which needs a tag of its own.
    private func document(_ segments: [Bytes], _ time: Timestamp, isKept: Bool = true) -> OriginResource {
        OriginResource(
            .records, type: "application/json", tag: "\(time)", lastModified: time, freshness: .seconds(60),
            content: .segments(segments), isKept: isKept)
    }

    /// The elements of a changeset's `changes`: records that are new or other than before, then tombstones.
    ///
    /// Records are compared by their canonical bytes, never by `last_modified`: what a record says about its own age need
    /// not be true.
    ///
    /// - Parameter time: the `last_modified` of tombstones; `nil` leaves it out, as v2 does.
    private static func changes(_ differences: [RecordDifference], tombstonesAt time: Timestamp?) -> [Bytes] {
        var (changed, deleted): ([Bytes], [Bytes]) = ([], [])
        let time = time.map { ",\"last_modified\":\($0)" } ?? ""
        for difference in differences {
            switch difference {
            case .created(let record), .updated(_, let record): changed.append(record.json)
            case .deleted(let record): deleted.append(Bytes(utf8: "{\"deleted\":true,\"id\":\"\(record.id)\"\(time)}"))
            }
        }
        return changed + deleted
    }

    private var head: Bytes {
        Bytes(utf8: #"{"metadata":\#(metadata.json.text),"timestamp":\#(timestamp),"changes":["#)
    }

    /// What this package's own tools read, so that mirrors of mirrors are the same: see `Changeset.mirroredMetadata`.
    private var tail: Bytes {
        Bytes(utf8: metadata.received.map { #"],"\#(Changeset.mirroredMetadata)":\#($0.text)}"# } ?? "]}")
    }

    /// Metadata changes while the timestamp stays, when the server signs again.
    private var fingerprint: Substring { SHA256Digest(hashing: metadata.json).hex.prefix(16) }

    private func resource(_ route: OriginRoute, _ segments: [Bytes], tag: String) -> OriginResource {
        OriginResource(
            route, type: "application/json", tag: tag, lastModified: metadata.lastModified ?? timestamp,
            freshness: .seconds(60), content: .segments(segments), gzip: .compressing)
    }
}
