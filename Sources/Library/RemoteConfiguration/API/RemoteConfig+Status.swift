import ConfigParameters
import RemoteSettings
import RemoteSettingsModel

extension RemoteConfig {
    /// The state of remote config, where its values come from, and what happens next. Does I/O; never uses the network.
    public var status: RemoteConfigStatus {
        let active = layers().parameters
        var status = RemoteConfigStatus(
            active: nil, fetched: nil, waiting: [], lastFetch: nil, lastFetchStatus: .noFetchYet, lastFetchError: nil,
            nextFetch: nil, holdReason: nil, isStale: false, problems: state.withLock { $0.problems },
            overrides: overrideWarnings)
        let access: CollectionAccess
        do throws(RemoteSettingsError) {
            access = try client.access
        } catch {
            status.problems.append("\(error)")
            return status
        }
        let now = access.environment.now()
        let kept = store.present(access)
        func shown(_ snapshot: Snapshot, _ source: RemoteConfigSource) -> RemoteConfigStatus.State {
            .init(
                source: source, timestamp: snapshot.timestamp, age: now.elapsed(since: snapshot.timestamp),
                provenance: snapshot.provenance, records: snapshot.records.count)
        }
        status.active = active.map { shown($0.snapshot, $0.source) }
        status.fetched = access.current().map { shown($0.snapshot, $0.configSource) }
        do throws(ParameterRecordError) {
            status.waiting = Set(try waitingKeys(access).map(\.string))
        } catch {
            status.problems.append("the fetched state is not used: \(error)")
        }
        status.problems += trial(access)?.problems(after: active?.timestamp) ?? []
        status.lastFetch = kept.lastFetch
        status.lastFetchStatus = kept.lastStatus
        status.lastFetchError = kept.lastError
        status.isStale = kept.stale != nil
        if let hold = kept.hold, hold.isInForce(at: now, limits: access.limits) {
            status.nextFetch = hold.until
            status.holdReason = hold.reason
            return status
        }
        let interval = Duration.interval(configSettings.minimumFetchInterval)
        status.nextFetch = nextRegularFetch(kept, access, expiration: interval)
        let most = configSettings.fetchesPerHour
        if let end = kept.limitEnd(at: now, most: most), end > status.nextFetch ?? now {
            status.nextFetch = end
            status.holdReason = ConfigState.limitReason(most: most)
        }
        return status
    }
}
