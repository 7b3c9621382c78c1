import RemoteSettingsModel
import SnapshotBundle

/// One immutable state of a server: all data for its responses while this state is current.
///
/// A server replaces it as a whole, so that every response comes from a single state. It uses no network and no clock,
/// and reads bundles in place. It is a class, so that a request keeps it alive with a single reference.
package final class Origin: Sendable {
    package let address: OriginAddress
    /// The collections, sorted by name.
    package let collections: [ServedCollection]

    /// The monitor's timestamp: the time of the newest change in any collection; 0 if there are no collections.
    package var monitorTimestamp: Timestamp { monitor.timestamp }

    /// The locations at which several collections have different attachments, one line each, for reports.
    package var conflicts: [String] { attachments.conflicts }

    let byID: [CollectionID: ServedCollection]
    let monitor: MonitorDocument
    let roots: [APIVersion: OriginResource]
    let attachments: AttachmentIndex
    let deltas: AttachmentDeltas
    let chains: [ExactString: OriginResource]
    /// The monitor's timestamp in the format that Mozilla's push service reads.
    let broadcasts: OriginResource
    let heartbeat: OriginResource
    let version: OriginResource
    let made = MadeResources()

    /// Creates a state. Reads the bundles' manifests, and does no other I/O.
    ///
    /// - Parameters:
    ///   - collections: the collections, without duplicates.
    ///   - softwareVersion: the version in the root document and in `__version__`.
    ///   - deltas: the cached deltas of earlier states.
    /// - Throws: `Failure`.
    package init(
        _ collections: [ServedCollection], address: OriginAddress, softwareVersion: String,
        deltas: MadeDeltas = MadeDeltas()
    ) throws(Failure) {
        self.address = address
        let collections = collections.sorted { $0.id < $1.id }
        self.collections = collections
        byID = Dictionary(collections.map { ($0.id, $0) }) { first, _ in first }
        monitor = MonitorDocument(collections.map { ($0.id, $0.timestamp) }, host: address.host)
        attachments = try AttachmentIndex(collections, path: address.path)
        self.deltas = try AttachmentDeltas(collections, made: deltas)
        var roots: [APIVersion: OriginResource] = [:]
        let state = SHA256Digest(hashing: monitor.body(since: nil, bucket: nil, collection: nil))
        for version in APIVersion.allCases {
            let json = RootDocument.json(
                version, address, softwareVersion: softwareVersion, collections: collections.map(\.id),
                newest: monitor.timestamp, state: state)
            roots[version] = Self.document(.root, json, freshness: .seconds(3600))
        }
        self.roots = roots
        var chains: [ExactString: OriginResource] = [:]
        for chain in collections.lazy.flatMap(\.chains) where chains[chain.name] == nil {
            chains[chain.name] = OriginResource(
                .chain, type: "application/x-pem-file", tag: String(chain.name.prefix(64)), freshness: .immutable,
                content: .segments([chain.pem]), gzip: .compressing)
        }
        self.chains = chains
        broadcasts = Self.document(
            .monitor,
            .members([
                "broadcasts": .members(["remote-settings/monitor_changes": .string("\"\(monitor.timestamp)\"")]),
                "code": .count(200),
            ]), freshness: .seconds(60))
        heartbeat = Self.document(.health, .object([.init(key: "snapshots", value: .bool(true))]), freshness: .none)
        version = Self.document(
            .version,
            .object([
                .init(key: "name", value: .string("rsdump")),
                .init(key: "version", value: .string(softwareVersion)),
            ]), freshness: .none)
    }

    static func document(
        _ route: OriginRoute, _ json: JSONValue, freshness: OriginResource.Freshness
    ) -> OriginResource {
        let body = Bytes(JSONText.compact(json))
        return OriginResource(
            route, type: "application/json", tag: String(SHA256Digest(hashing: body).hex.prefix(32)),
            freshness: freshness, content: .segments([body]))
    }

    /// Creates each changeset and its compressed variant in advance, so that no request has to wait for them.
    ///
    /// - Throws: `Failure` if a bundle cannot be read.
    package func warmUp() throws(Failure) {
        for collection in collections { _ = try collection.changeset().gzip() }
    }
}

/// A cache for the resources that one state of a server creates on the first request.
final class MadeResources: Sendable {
    enum Key: Hashable {
        /// The monitor's changeset with this number of newest entries.
        case monitor(Int)
        case zip(CollectionID)
    }

    private let slots = Mutex<[Key: Lazily<OriginResource?>]>([:])

    func get(_ key: Key, _ make: () throws(Failure) -> OriginResource?) throws(Failure) -> OriginResource? {
        let slot = slots.withLock { slots in
            if let known = slots[key] { return known }
            let slot = Lazily<OriginResource?>()
            slots[key] = slot
            return slot
        }
        return try slot.get(make)
    }
}
