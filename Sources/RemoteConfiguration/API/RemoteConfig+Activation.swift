import ConfigParameters
import RemoteSettings
import RemoteSettingsModel

extension RemoteConfig {
    /// Puts what was fetched, or signals and a context that have changed, into force. Does I/O, never uses the network.
    ///
    /// What is activated stays active across starts, and is verified again at each.
    ///
    /// - Returns: whether a value has changed.
    /// - Throws: ``RemoteConfigError``; then what was active stays active.
    @discardableResult
    public func activate() async throws(RemoteConfigError) -> Bool {
        let changed: Set<String>
        do {
            let access = try client.access
            let old = layers()
            changed = try await access.withStorageLock {
                try Task.checkCancellation()
                return try activate(access, before: old)
            }
        } catch {
            throw RemoteConfigError(error)
        }
        if !changed.isEmpty { hub.send(.activated(updatedKeys: changed)) }
        return !changed.isEmpty
    }

    /// Activates under the storage lock.
    ///
    /// - Returns: the keys whose values have changed.
    private func activate(_ access: CollectionAccess, before: ConfigLayers) throws -> Set<String> {
        let file = try readableFile(access)
        let present = state.withLock { $0.layers } ?? before
        var target = present.parameters.flatMap { $0.server == access.server ? $0 : nil }
        let context = context(access, file.state)
        let limits = access.limits.filter
        func layer(_ found: CollectionAccess.Found) throws -> ParameterLayer {
            do throws(ParameterRecordError) {
                return try ParameterLayer(found, server: access.server, context: context, limits: limits)
            } catch {
                throw RemoteConfigError.notParameters(reason: "\(access.id): \(error)")
            }
        }
        // What another process has activated.
        var kept = file.snapshot.flatMap { access.claimedTimestamp(of: $0) }
        if let kept, let content = file.snapshot, target.map({ $0.timestamp < kept }) ?? true {
            var unused: [SnapshotStatus.Unused] = []
            if let found = access.newest(kept: content, unused: &unused), found.isNewer(than: target) {
                target = try layer(found)
            }
        }
        if let found = access.held(), found.isNewer(than: target) { target = try layer(found) }
        if let active = target, active.context != context {
            target = ParameterLayer(active, source: active.source, context: context, limits: limits)
        }
        if let target, target.source == .remote, kept.map({ $0 < target.timestamp }) ?? true {
            let now = access.environment.now()
            try keep(access, snapshot: access.content(of: target.snapshot)) { $0.activated = now }
            kept = target.timestamp
        }
        let changed = ParameterLayer.differences(from: present.parameters, to: target)
        replaceLayers { state in
            state.layers = ConfigLayers(parameters: target, defaults: state.defaults)
            state.problems = []
        }
        return changed
    }

    /// The keys whose values the next activation would change.
    ///
    /// - Throws: `ParameterRecordError` where what was fetched holds something other than parameters.
    func waitingKeys(_ access: CollectionAccess) throws(ParameterRecordError) -> Set<String> {
        let active = layers().parameters
        let context = context(access, currentState(access))
        let fetched: ParameterLayer?
        if let found = access.held(), found.isNewer(than: active) {
            fetched = try ParameterLayer(found, server: access.server, context: context, limits: access.limits.filter)
        } else {
            fetched = active.map {
                ParameterLayer($0, source: $0.source, context: context, limits: access.limits.filter)
            }
        }
        return ParameterLayer.differences(from: active, to: fetched)
    }

    /// What there is, where it comes from, and what happens next. Does I/O, never uses the network.
    public var status: RemoteConfigStatus {
        let active = layers().parameters
        var status = RemoteConfigStatus(
            active: nil, fetched: nil, waiting: [], lastFetch: nil, lastFetchStatus: .noFetchYet, lastFetchError: nil,
            nextFetch: nil, holdReason: nil, isStale: false, problems: state.withLock { $0.problems })
        let access: CollectionAccess
        do throws(RemoteSettingsError) {
            access = try client.access
        } catch {
            status.problems.append("\(error)")
            return status
        }
        let now = access.environment.now()
        let kept = presentFile(access).state
        func shown(_ snapshot: Snapshot, _ source: RemoteConfigSource) -> RemoteConfigStatus.State {
            .init(
                source: source, timestamp: snapshot.timestamp, age: now.elapsed(since: snapshot.timestamp),
                trust: snapshot.provenance, records: snapshot.records.count)
        }
        status.active = active.map { shown($0.snapshot, $0.source) }
        status.fetched = access.held().map { shown($0.snapshot, $0.configSource) }
        do throws(ParameterRecordError) {
            status.waiting = try waitingKeys(access)
        } catch {
            status.problems.append("what was fetched is not used: \(error)")
        }
        status.lastFetch = kept.lastFetch
        status.lastFetchStatus = kept.lastStatus
        status.lastFetchError = kept.lastError
        status.isStale = kept.stale != nil
        if let hold = kept.hold, hold.isInForce(at: now, limits: access.limits) {
            status.nextFetch = hold.until
            status.holdReason = hold.reason
        } else {
            let interval = Duration.interval(configSettings.minimumFetchInterval)
            status.nextFetch = nextRegularFetch(kept, access, expiration: interval)
        }
        return status
    }

    /// Tells the filters of parameters about this user or device: each signal is a member of `env`, by its key. Does I/O.
    ///
    /// They are kept across starts, and take effect at the next ``activate()`` or start; the next ``fetch()`` asks the
    /// server whatever the interval. Members of the service's `appContext`, `env.id` and `env.now` cannot be replaced.
    ///
    /// - Parameter signals: the signals to set; `nil` removes one. Others stay. Keys have at most 250 characters, texts 500,
    ///   and there may be 100 signals, which together take at most 1 MiB as they are stored.
    /// - Throws: ``RemoteConfigCustomSignalsError`` at the first violation; then none is set.
    public func setCustomSignals(
        _ signals: [String: CustomSignalValue?]
    ) async throws(RemoteConfigCustomSignalsError) {
        do {
            var checked = CustomSignals()
            try checked.merge(signals)
            let access = try client.access
            _ = layers()
            try await access.withStorageLock {
                try Task.checkCancellation()
                var merged = try readableFile(access).state.signals
                try merged.merge(signals)
                try keep(access) { $0.signals = merged }
            }
        } catch {
            throw error as? RemoteConfigCustomSignalsError ?? .unknown(reason: "\(error)")
        }
    }
}

extension CollectionAccess.Found {
    var configSource: RemoteConfigSource {
        if case .packaged = source { .packaged } else { .remote }
    }

    /// Whether it takes the place of an active state. One that the server has signed takes the place of a packaged one of the
    /// same timestamp, which may have been imported.
    fileprivate func isNewer(than active: ParameterLayer?) -> Bool {
        guard let active else { return true }
        if snapshot.timestamp == active.timestamp { return configSource == .remote && active.source == .packaged }
        return snapshot.timestamp > active.timestamp
    }
}
