import RemoteSettingsModel
import SnapshotBundle
import TargetFilter

/// A collection that is part of the program, so that its records are always there.
///
/// `rsdump embed --swift` writes one for each embedded collection, such as `EmbeddedCollection.regions`.
///
///     let regions = service.makeClient(.regions)
///     for record in regions.records { … }
public struct EmbeddedCollection: Hashable, Sendable {
    /// `bucket/name`.
    public let name: String
    let source: PackagedSource

    /// For the code that `rsdump embed` writes. Does no I/O.
    ///
    /// - Parameters:
    ///   - name: `bucket/name`.
    ///   - source: a source that is part of the program.
    public init(_ name: String, in source: PackagedSource) {
        self.name = name
        self.source = source
    }
}

/// A client of an ``EmbeddedCollection``.
public struct EmbeddedClient: Sendable {
    /// The collection's client, which syncs it, tells its changes and reads its attachments.
    public let client: RemoteSettingsClient
    private let embedded: EmbeddedRecords

    init(_ client: RemoteSettingsClient, _ embedded: EmbeddedRecords) {
        self.client = client
        self.embedded = embedded
    }

    /// The records that are meant for this app, sorted by id. All are of one state of the collection.
    ///
    /// It is the newest of the embedded state and the stored ones that can be trusted. If nothing else can be used,
    /// whatever the configuration says, it is the embedded state. Never uses the network. Does I/O as
    /// ``RemoteSettingsClient/getRecords()`` does.
    public var records: [RemoteSettingsRecord] { client.getRecords() ?? embedded.records }
}

extension RemoteSettingsService {
    /// Makes a client for a collection that is part of the program. Does no I/O.
    ///
    /// In a debug build, the program stops with a sentence if the embedded bundle is not the one that its lock
    /// describes, or if ``RemoteSettingsConfig/packaged`` lacks its source. Call it at the start.
    public func makeClient(_ collection: EmbeddedCollection) -> EmbeddedClient {
        let embedded = EmbeddedRecords(collection, self)
        assert(
            { () -> Bool in
                if let problem = embedded.problem { assertionFailure(problem) }
                return true
            }())
        return EmbeddedClient(makeClient(collectionName: collection.name), embedded)
    }

    /// Checks that these collections have records without the network. Does I/O as reading them does.
    ///
    /// Call it at the start of an app whose collections are packaged as resources or in a directory.
    ///
    /// - Parameter names: the collections' names, in the configured bucket; or `bucket/name`.
    /// - Throws: ``RemoteSettingsError`` that names every collection without records, and why.
    public func require(_ names: [String]) throws(RemoteSettingsError) {
        var problems: [String] = []
        for name in names {
            let status = makeClient(collectionName: name).snapshot
            guard status.timestamp == nil else { continue }
            let reasons = status.rejected.map { "\($0)" }
            problems.append(
                "\(name): "
                    + (reasons.isEmpty ? "no packaged source and no cache has it" : reasons.joined(separator: "; ")))
        }
        guard problems.isEmpty else {
            throw .notHeld(
                reason: "expected records of \(Counted.text(names.count, "collection")), found none of "
                    + problems.joined(separator: "\n"))
        }
    }
}

/// The records of an embedded bundle, whatever its service makes of it.
final class EmbeddedRecords: Sendable {
    private let collection: EmbeddedCollection
    private let service: RemoteSettingsService
    /// What was last read, and the app's values that it was filtered with.
    private let known = Mutex<(records: [RemoteSettingsRecord], context: FilterContext)?>(nil)

    init(_ collection: EmbeddedCollection, _ service: RemoteSettingsService) {
        self.collection = collection
        self.service = service
    }

    var records: [RemoteSettingsRecord] {
        do {
            let context = service.session.filterContext
            if let known = known.withLock({ $0 }), known.context == context { return known.records }
            let id = try CollectionID(collection.name)
            let local = service.collection(id: id)
            let records = local.filtered(try bundle(id).reader.payload().records)
            known.withLock { $0 = (records, local.session.filterContext) }
            return records
        } catch {
            service.session.logger.error("\(collection.name): the embedded bundle cannot be read: \(error)")
            return []
        }
    }

    /// Why the program is not what `rsdump embed` made; `nil` if it is.
    var problem: String? {
        do {
            let id = try CollectionID(collection.name)
            let (reader, bytes) = try bundle(id)
            let text = try collection.source.lockText(limits: Limits())
            guard
                let entry = try LockFile.collection(id, in: text, path: collection.source.lockName),
                entry.bundle.sha256 == SHA256Digest(hashing: bytes),
                try !reader.payload().records.isEmpty || entry.records == 0
            else {
                return
                    "\(collection.name): the embedded bundle is not the one in the embedded lock; run rsdump embed again"
            }
        } catch {
            return "\(collection.name): \(error); run rsdump embed again"
        }
        guard service.session.config.packaged.contains(where: { $0.form == collection.source.form }) else {
            return "\(collection.name): RemoteSettingsConfig.packaged lacks the source that it is embedded in; add it"
        }
        return nil
    }

    private func bundle(_ id: CollectionID) throws(BundleError) -> (reader: BundleReader, bytes: Bytes) {
        guard case .embedded(_, let bundles) = collection.source.form, let bytes = bundles["\(id)"] else {
            throw BundleError(
                .missing, file: collection.source.name, entry: "\(id)", expected: "an embedded bundle", found: "none")
        }
        return (try BundleReader(bytes: bytes, name: "\(collection.source.name): \(id)", limits: Limits()), bytes)
    }
}
