import RemoteSettingsModel
import SnapshotBundle
import TargetFilter

/// A collection that is part of the program, so that its records are always there.
///
/// `rsdump embed --swift` writes one for each embedded collection, such as `EmbeddedCollection.regions`. With
/// `--types`, it also writes the type of the records.
///
///     let regions = service.makeClient(.regions)
///     for region in regions.records { print(region.name) }
public struct EmbeddedCollection<Record: EmbeddedRecord>: Hashable, Sendable {
    /// `bucket/name`.
    public let name: String
    let source: PackagedSource

    /// For the code that `rsdump embed --types` writes. Does no I/O.
    ///
    /// - Parameters:
    ///   - name: `bucket/name`.
    ///   - type: the type of the records.
    ///   - source: a source that is part of the program.
    public init(_ name: String, of type: Record.Type, in source: PackagedSource) {
        self.name = name
        self.source = source
    }
}

extension EmbeddedCollection where Record == RemoteSettingsRecord {
    /// For the code that `rsdump embed` writes. Does no I/O.
    ///
    /// - Parameters:
    ///   - name: `bucket/name`.
    ///   - source: a source that is part of the program.
    public init(_ name: String, in source: PackagedSource) {
        self.init(name, of: Record.self, in: source)
    }
}

/// What the records of an ``EmbeddedCollection`` are: ``RemoteSettingsRecord``, or a `Decodable` type, such as those
/// that `rsdump embed --types` writes.
public protocol EmbeddedRecord: Hashable, Identifiable, Sendable where ID == String {
    /// Reads a record. Does no I/O.
    ///
    /// - Throws: any error if the record does not have the form of this type.
    init(_ record: RemoteSettingsRecord) throws
}

extension EmbeddedRecord where Self: Decodable {
    public init(_ record: RemoteSettingsRecord) throws { self = try record.decode() }
}

extension RemoteSettingsRecord: EmbeddedRecord {
    public init(_ record: RemoteSettingsRecord) { self = record }
}

/// A client of an ``EmbeddedCollection``.
public struct EmbeddedClient<Record: EmbeddedRecord>: Sendable {
    /// The collection's client, which syncs it, tells its changes and reads its attachments.
    public let client: RemoteSettingsClient
    private let embedded: EmbeddedRecords
    private let decoded = DecodedRecords<Record>()

    init(_ client: RemoteSettingsClient, _ embedded: EmbeddedRecords) {
        self.client = client
        self.embedded = embedded
    }

    /// The records that are meant for this app, sorted by id. All are of one state of the collection.
    ///
    /// It is the newest of the embedded state and the stored ones that can be trusted. If nothing else can be used,
    /// whatever the configuration says, it is the embedded state. A record that does not have the form of ``Record`` is
    /// left out, and the log names it once for each state. Never uses the network. Does I/O as
    /// ``RemoteSettingsClient/getRecords()`` does.
    public var records: [Record] {
        let records = client.getRecords() ?? embedded.records
        return (records as? [Record])
            ?? decoded.records(of: records) { record, error in
                embedded.report(
                    "\(client.collectionName()): the record \(record.id) was omitted because it cannot be decoded as "
                        + "\(Record.self): \(VisibleText.excerpt("\(error)"))")
            }
    }

    /// A record's attachment. Uses the network if it is neither stored nor packaged; what is downloaded is stored.
    ///
    /// - Throws: ``RemoteSettingsError``, also if the collection no longer has the record, or if it has no attachment.
    public func attachment(for record: Record) async throws(RemoteSettingsError) -> AttachmentContent {
        guard let raw = (client.getRecords() ?? embedded.records).first(where: { $0.id == record.id }) else {
            throw .other(
                reason: "\(client.collectionName()): the record \(VisibleText.quote(record.id)) no longer exists")
        }
        return try await client.attachment(for: raw)
    }
}

/// The records of one state, decoded once.
private final class DecodedRecords<Record: EmbeddedRecord>: Sendable {
    private let known = Mutex<(raw: [RemoteSettingsRecord], decoded: [Record])?>(nil)

    func records(
        of raw: [RemoteSettingsRecord], _ report: (RemoteSettingsRecord, any Error) -> Void
    ) -> [Record] {
        if let known = known.withLock({ $0 }), known.raw == raw { return known.decoded }
        let decoded = raw.compactMap { record -> Record? in
            do { return try Record(record) } catch {
                report(record, error)
                return nil
            }
        }
        known.withLock { $0 = (raw, decoded) }
        return decoded
    }
}

extension RemoteSettingsService {
    /// Makes a client for a collection that is part of the program. Does no I/O.
    ///
    /// In a debug build, the program stops with a sentence if the embedded bundle is not the one that its lock
    /// describes, or if ``RemoteSettingsConfig/packaged`` lacks its source. Call it at the start.
    public func makeClient<Record>(_ collection: EmbeddedCollection<Record>) -> EmbeddedClient<Record> {
        let embedded = EmbeddedRecords(collection.name, in: collection.source, self)
        assert(
            { () -> Bool in
                if let problem = embedded.problem { assertionFailure(problem) }
                return true
            }())
        return EmbeddedClient(makeClient(collectionName: collection.name), embedded)
    }

    /// Checks that these collections have records without the network. Does I/O as reading them does.
    ///
    /// Call it at the start of an app whose collections are packaged as resources or in a directory. A test before a
    /// release names the environment, so that no data of a staging server is shipped:
    ///
    ///     try service.require(["regions"], environment: .prod)
    ///
    /// - Parameters:
    ///   - names: the collections' names, in the configured bucket; or `bucket/name`.
    ///   - environment: the server that everything that is packaged of them must be of. If the configuration names a
    ///     publisher, a packaged catalogue must be of that one. `nil` to check neither.
    /// - Throws: ``RemoteSettingsError`` that names every collection without records, or of another environment, and
    ///   why.
    public func require(
        _ names: [String], environment: RemoteSettingsServer? = nil
    ) throws(RemoteSettingsError) {
        if let environment {
            let session = session
            let server = ServerIdentity(try environment.serverURL(allowPlainHTTP: true))
            var ids: Set<CollectionID> = []
            for name in names { ids.insert(try session.collectionID(name)) }
            let foreign = session.choice.packaged.foreign(ids, to: server, session.publisher)
            guard foreign.isEmpty else { throw .untrusted(reason: foreign.joined(separator: "\n")) }
        }
        var problems: [String] = []
        for name in names {
            let status = makeClient(collectionName: name).status
            guard status.timestamp == nil else { continue }
            let reasons = status.rejected.map { "\($0)" }
            problems.append(
                "\(name): "
                    + (reasons.isEmpty ? "it is neither packaged nor cached" : reasons.joined(separator: "; ")))
        }
        guard problems.isEmpty else {
            throw .notHeld(
                reason: "\(Counted.text(problems.count, "collection")) without usable records: "
                    + problems.joined(separator: "\n"))
        }
    }
}

/// The records of an embedded bundle, whatever its service makes of it.
final class EmbeddedRecords: Sendable {
    private let name: String
    private let source: PackagedSource
    private let service: RemoteSettingsService
    /// What was last read, and the app's values that it was filtered with.
    private let known = Mutex<(records: [RemoteSettingsRecord], context: FilterContext)?>(nil)

    init(_ name: String, in source: PackagedSource, _ service: RemoteSettingsService) {
        self.name = name
        self.source = source
        self.service = service
    }

    func report(_ problem: String) { service.session.logger.error("\(problem)") }

    var records: [RemoteSettingsRecord] {
        do {
            let context = service.session.filterContext
            if let known = known.withLock({ $0 }), known.context == context { return known.records }
            let id = try CollectionID(name)
            let local = service.collection(id: id)
            let records = local.filtered(try bundle(id).reader.payload().records)
            known.withLock { $0 = (records, local.session.filterContext) }
            return records
        } catch {
            service.session.logger.error("\(name): the embedded bundle cannot be read: \(error)")
            return []
        }
    }

    /// Why the program is not what `rsdump embed` made; `nil` if it is.
    var problem: String? {
        do {
            let id = try CollectionID(name)
            let (reader, bytes) = try bundle(id)
            let text = try source.lockText(limits: Limits())
            guard
                let entry = try LockFile.collection(id, in: text, path: source.lockName),
                entry.bundle.sha256 == SHA256Digest(hashing: bytes),
                try !reader.payload().records.isEmpty || entry.records == 0
            else {
                return
                    "\(name): the embedded bundle does not match the embedded lock file; run rsdump embed again"
            }
        } catch {
            return "\(name): \(error); run rsdump embed again"
        }
        guard service.session.config.packaged.contains(where: { $0.form == source.form }) else {
            return "\(name): add the source in which it is embedded to RemoteSettingsConfig.packaged"
        }
        return nil
    }

    private func bundle(_ id: CollectionID) throws(BundleError) -> (reader: BundleReader, bytes: Bytes) {
        guard case .embedded(_, let bundles) = source.form, let bytes = bundles["\(id)"] else {
            throw BundleError(
                .missing, file: source.name, entry: "\(id)", found: "the embedded bundle is missing")
        }
        return (try BundleReader(bytes: bytes, name: "\(source.name): \(id)", limits: Limits()), bytes)
    }
}
