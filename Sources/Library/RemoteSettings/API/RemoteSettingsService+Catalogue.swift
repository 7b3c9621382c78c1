import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// Several collections in the states of one catalogue. Made by ``RemoteSettingsService/read(_:)``.
public struct CatalogueReading: Sendable {
    /// The catalogue in use; `nil` if the configuration names no publisher, or if no catalogue of it is held.
    ///
    /// If it is `nil`, each collection is in the newest state that is held.
    public let catalogue: CatalogueStatus?
    private let session: Session
    private let view: CatalogueView?
    private let current: [CollectionID: (records: [RemoteSettingsRecord]?, isOfCatalogue: Bool)]

    /// Reads the collections. If another process stores a catalogue meanwhile, they are read again.
    init(_ session: Session, _ collections: [LocalCollection]) {
        var current: [CollectionID: (records: [RemoteSettingsRecord]?, isOfCatalogue: Bool)] = [:]
        var view: CatalogueView?
        // A catalogue is never followed by an earlier one, and somebody has to publish each. So the loop ends long
        // before this.
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

    /// The records of a collection that are meant for this app. Does no I/O.
    ///
    /// - Parameter collection: the collection's name, in the configured bucket; or `bucket/name`.
    /// - Returns: `nil` if nothing is held, or if the collection had no client when the reading began.
    public func getRecords(_ collection: String) -> [RemoteSettingsRecord]? {
        (try? session.collectionID(collection)).flatMap { current[$0]?.records }
    }

    /// The collections that are not in the state that the catalogue lists, as `bucket/collection`, sorted.
    ///
    /// Some were packaged in another state, and their client was made after the last sync; the next sync brings them to
    /// the catalogue. The others are not listed by the catalogue.
    public var others: [String] {
        view == nil ? [] : current.filter { !$0.value.isOfCatalogue }.keys.sorted().map { "\($0)" }
    }
}

extension RemoteSettingsService {
    /// The catalogue in use; `nil` if the configuration names no publisher, or if no catalogue of it is held.
    ///
    /// Never uses the network. Does I/O as a read of records does.
    public var catalogue: CatalogueStatus? {
        let session = session
        return session.currentCatalogue().map { CatalogueStatus($0, now: session.now) }
    }

    /// Reads the collections that have a client, all in the states of one catalogue.
    ///
    /// The states stay those of one catalogue even if this process or another one that shares the storage directory
    /// syncs meanwhile. Never uses the network. Does I/O as reads of their records do.
    ///
    ///     let (plans, texts) = service.read { ($0.getRecords("plans"), $0.getRecords("texts")) }
    ///
    /// - Parameter body: is called once.
    public func read<Value>(_ body: (CatalogueReading) throws -> Value) rethrows -> Value {
        try body(CatalogueReading(session, clientCollections))
    }

    /// The catalogue in use, and then each one that follows it. Each read of the property makes a new stream, which
    /// ends with the service. No connection is opened.
    ///
    /// It yields the same catalogue again when its ``CatalogueStatus/freshness`` changes, so that an app can say how
    /// old its data is. If another process stores a catalogue, it is delivered when a read or a sync of this process
    /// notices it.
    public var catalogues: AsyncStream<CatalogueStatus> {
        let stores = changes.stores(of: Catalogue.collection)
        let environment = session.config.environment
        // An element whenever the catalogue may be another one, or has become stale.
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

    /// The time until the catalogue becomes unconfirmed; `nil` if it already is, or if no catalogue is in use.
    private var untilExpiry: Duration? {
        guard case .confirmed(let until)? = catalogue?.freshness else { return nil }
        return until.elapsed(since: session.now) + .milliseconds(1)
    }
}
