import ConfigParameters
import RemoteSettings
import RemoteSettingsModel

extension RemoteConfig {
    /// The status of remote config: its state, the source of its values, and the next fetch. Does I/O; never uses the
    /// network.
    public var status: RemoteConfigStatus {
        let active = layers().parameters
        var status = RemoteConfigStatus(
            active: nil, fetched: nil, waiting: [], lastFetch: nil, lastFetchStatus: .noFetchYet, lastFetchError: nil,
            nextFetch: nil, holdReason: nil, isStale: false, problems: state.withLock { $0.problems },
            overrides: overrideWarnings)
        let collection: LocalCollection
        do throws(RemoteSettingsError) {
            collection = try client.collection()
        } catch {
            status.problems.append("\(error)")
            return status
        }
        let now = collection.session.now
        let kept = store.present(collection)
        func shown(_ snapshot: Snapshot, _ source: RemoteConfigSource) -> RemoteConfigStatus.State {
            .init(
                source: source, timestamp: snapshot.timestamp, age: now.elapsed(since: snapshot.timestamp),
                provenance: snapshot.provenance, records: snapshot.records.count)
        }
        status.active = active.map { shown($0.snapshot, $0.source) }
        if let unevaluated = active?.unevaluated, unevaluated > 0 {
            let records = Counted.text(unevaluated, "record")
            status.problems.append("\(records) not used, because evaluating all filters takes too much work")
        }
        let fetched = collection.current()
        status.fetched = fetched.snapshot.map { shown($0, fetched.source.configSource) }
        do throws(Failure) {
            status.waiting = Set(try waitingKeys(collection).map(\.string))
        } catch {
            status.problems.append("the fetched state is not used: \(error)")
        }
        status.problems += trial(collection)?.problems(after: active?.timestamp) ?? []
        status.lastFetch = kept.lastFetch
        status.lastFetchStatus = kept.lastStatus
        status.lastFetchError = kept.lastError
        status.isStale = kept.stale != nil
        if let hold = kept.hold, hold.isInForce(at: now) {
            status.nextFetch = hold.until
            status.holdReason = hold.reason
            return status
        }
        let interval = Duration.interval(configSettings.minimumFetchInterval)
        status.nextFetch = nextRegularFetch(kept, collection, expiration: interval)
        let most = configSettings.fetchesPerHour
        if let end = kept.limitEnd(at: now, most: most), end > status.nextFetch ?? now {
            status.nextFetch = end
            status.holdReason = ConfigState.limitReason(most: most)
        }
        return status
    }
}
