import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotTrust

/// Several collections in the states of one release. Made by ``RemoteSettingsService/read(_:)``.
public struct ReleaseReading: Sendable {
    /// The release in use; `nil` if the configuration names no origin, or if no catalogue of it is held.
    ///
    /// If it is `nil`, each collection is in the newest state that is held.
    public let release: ReleaseStatus?
    private let session: Session
    private let view: ReleaseView?
    private let current: [CollectionID: (records: [RemoteSettingsRecord]?, isOfRelease: Bool)]

    /// Reads the collections. If another process stores a release meanwhile, they are read again.
    init(_ session: Session, _ collections: [LocalCollection]) {
        var current: [CollectionID: (records: [RemoteSettingsRecord]?, isOfRelease: Bool)] = [:]
        var view: ReleaseView?
        // A release is never followed by an earlier one, and somebody has to publish each. So the loop ends long before
        // this.
        for _ in 0..<100 {
            view = session.currentRelease()
            current = [:]
            var isWhole = true
            for collection in collections {
                let (records, state) = collection.recordsAndState()
                current[collection.id] = (records, state.isOfRelease)
                let isApart = collection.overriding != nil || collection.id == Catalogue.collection
                isWhole = isWhole && (isApart || state.view === view)
            }
            if isWhole, session.currentRelease() === view { break }
        }
        self.session = session
        self.view = view
        self.current = current
        release = view.map { ReleaseStatus($0, now: session.now) }
    }

    /// The records of a collection that are meant for this app. Does no I/O.
    ///
    /// - Parameter collection: the collection's name, in the configured bucket; or `bucket/name`.
    /// - Returns: `nil` if nothing is held, or if the collection had no client when the reading began.
    public func getRecords(_ collection: String) -> [RemoteSettingsRecord]? {
        (try? session.collectionID(collection)).flatMap { current[$0]?.records }
    }

    /// The collections that are not in the state that the release lists, as `bucket/collection`, sorted.
    ///
    /// Some were packaged in another state, and their client was made after the last sync; the next sync brings them to
    /// the release. The others are not listed by the release.
    public var others: [String] {
        view == nil ? [] : current.filter { !$0.value.isOfRelease }.keys.sorted().map { "\($0)" }
    }
}

extension RemoteSettingsService {
    /// The release in use; `nil` if the configuration names no origin, or if no catalogue of it is held.
    ///
    /// Never uses the network. Does I/O as a read of records does.
    public var release: ReleaseStatus? {
        let session = session
        return session.currentRelease().map { ReleaseStatus($0, now: session.now) }
    }

    /// Reads the collections that have a client, all in the states of one release.
    ///
    /// The states stay those of one release even if this process or another one that shares the storage directory syncs
    /// meanwhile. Never uses the network. Does I/O as reads of their records do.
    ///
    ///     let (plans, texts) = service.read { ($0.getRecords("plans"), $0.getRecords("texts")) }
    ///
    /// - Parameter body: is called once.
    public func read<Value>(_ body: (ReleaseReading) throws -> Value) rethrows -> Value {
        try body(ReleaseReading(session, clientCollections))
    }

    /// The release in use, and then each one that follows it. The stream ends with the service.
    ///
    /// It yields the same release again when its ``ReleaseStatus/freshness`` changes, so that an app can say how old
    /// its data is. If another process stores a release, it is delivered when a read or a sync of this process notices
    /// it.
    public var releases: AsyncStream<ReleaseStatus> {
        let stores = changes.stores(of: Catalogue.collection)
        let environment = session.config.environment
        return AsyncStream { continuation in
            let alarm = Alarm()
            let teller = Task { [weak self] in
                var told: ReleaseStatus?
                while !Task.isCancelled, let (present, pause) = self.map({ ($0.release, $0.untilExpiry) }) {
                    if let present, present != told {
                        told = present
                        continuation.yield(present)
                    }
                    await alarm.wait(pause, environment)
                }
            }
            let follower = Task {
                for await _ in stores { alarm.ring() }
                teller.cancel()
                continuation.finish()
            }
            continuation.onTermination = { _ in follower.cancel() }
        }
    }

    /// The time until the release becomes unconfirmed; `nil` if it already is, or if there is none.
    private var untilExpiry: Duration? {
        guard case .confirmed(let until)? = release?.freshness else { return nil }
        return until.elapsed(since: session.now) + .milliseconds(1)
    }
}
