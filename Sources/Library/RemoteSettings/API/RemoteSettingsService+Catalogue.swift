import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// A consistent view of several collections, in the states of one catalogue. It is created by
/// ``RemoteSettingsService/read(_:)``.
public struct CatalogueReading: Sendable {
    /// The catalogue in use; `nil` if the configuration has no publisher, or if none of its catalogues is stored or
    /// packaged.
    ///
    /// If it is `nil`, each collection is in its newest local state.
    public let catalogue: CatalogueStatus?
    private let session: Session
    private let view: CatalogueView?
    private let current: [CollectionID: (records: [RemoteSettingsRecord]?, isOfCatalogue: Bool)]

    /// Reads the collections, and reads them again if another process stores a catalogue in the meantime.
    init(_ session: Session, _ collections: [LocalCollection]) {
        var current: [CollectionID: (records: [RemoteSettingsRecord]?, isOfCatalogue: Bool)] = [:]
        var view: CatalogueView?
        // This loop finishes long before its limit: it repeats only when a new catalogue is published during the read,
        // and a catalogue is never replaced by an earlier one.
        for _ in 0..<100 {
            view = session.currentCatalogue()
            current = [:]
            var isWhole = true
            for collection in collections {
                let (records, state) = collection.recordsAndState()
                current[collection.id] = (records, state.isOfCatalogue)
                let isApart = collection.overriding != nil || collection.id == Catalogue.collection
                isWhole = isWhole && (isApart || state.view === view)
            }
            if isWhole, session.currentCatalogue() === view { break }
        }
        self.session = session
        self.view = view
        self.current = current
        catalogue = view.map { CatalogueStatus($0, now: session.now) }
    }

    /// Returns the records of a collection that match this app's context. Does no I/O.
    ///
    /// - Parameter collection: the collection's name in the configured bucket, or `bucket/name`.
    /// - Returns: `nil` if the collection has no local state, or if it had no client when
    ///   ``RemoteSettingsService/read(_:)`` was called.
    public func getRecords(_ collection: String) -> [RemoteSettingsRecord]? {
        (try? session.collectionID(collection)).flatMap { current[$0]?.records }
    }

    /// The collections that are not in the state listed in the catalogue, as `bucket/collection`, sorted.
    ///
    /// For example, the catalogue does not list the collection, a local file overrides it, its stored state was
    /// removed, or its client was created after the last sync and a different state is packaged. In the last case, the
    /// next sync updates it to the state in the catalogue.
    public var others: [String] {
        view == nil ? [] : current.filter { !$0.value.isOfCatalogue }.keys.sorted().map { "\($0)" }
    }
}

extension RemoteSettingsService {
    /// The catalogue in use; `nil` if the configuration has no publisher, or if none of its catalogues is stored or
    /// packaged.
    ///
    /// Never uses the network. Does I/O like a read of records.
    public var catalogue: CatalogueStatus? {
        let session = session
        return session.currentCatalogue().map { CatalogueStatus($0, now: session.now) }
    }

    /// Reads the collections that have a client, all in the states of one catalogue.
    ///
    /// The view remains consistent even if this process, or another process that shares the storage directory, syncs in
    /// the meantime. Never uses the network. Does I/O like reads of the collections' records.
    ///
    ///     let (plans, texts) = service.read { ($0.getRecords("plans"), $0.getRecords("texts")) }
    ///
    /// - Parameter body: a closure that is called once with the view.
    public func read<Value>(_ body: (CatalogueReading) throws -> Value) rethrows -> Value {
        try body(CatalogueReading(session, clientCollections))
    }

    /// A stream of the catalogues in use: the current one, then each one that replaces it. Each access creates a new
    /// stream, which finishes when the service is shut down. No connection is opened.
    ///
    /// The stream delivers the same catalogue again when its ``CatalogueStatus/freshness`` changes, so that an app can
    /// show the age of its data. If another process stores a catalogue, the stream delivers it when a read or a sync in
    /// this process notices it.
    public var catalogues: AsyncStream<CatalogueStatus> {
        let stores = changes.stores(of: Catalogue.collection)
        let environment = session.config.environment
        // Receives an element whenever the catalogue may have been replaced or may have become stale.
        let (calls, call) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        return AsyncStream { continuation in
            let follower = Task {
                for await _ in stores { call.yield() }
                call.finish()
            }
            let teller = Task { [weak self] in
                var told: CatalogueStatus?
                var timer: Task<Void, Never>?
                call.yield()
                for await _ in calls {
                    timer?.cancel()
                    guard let (present, pause) = self.map({ ($0.catalogue, $0.untilExpiry) }) else { break }
                    if let present, present != told {
                        told = present
                        continuation.yield(present)
                    }
                    timer = pause.map { pause in
                        Task { if (try? await environment.sleep(pause)) != nil { call.yield() } }
                    }
                }
                timer?.cancel()
                continuation.finish()
            }
            continuation.onTermination = { _ in
                follower.cancel()
                teller.cancel()
            }
        }
    }

    /// The time until the catalogue becomes stale; `nil` if it is already stale, or if no catalogue is in use.
    private var untilExpiry: Duration? {
        guard case .fresh(let until)? = catalogue?.freshness else { return nil }
        return until.elapsed(since: session.now) + .milliseconds(1)
    }
}
