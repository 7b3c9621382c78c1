import ConfigParameters
import RemoteSettings
import RemoteSettingsModel
import TargetFilter

extension RemoteConfig {
    /// The active state at a start. The start is counted if the configuration asks for that.
    func startingLayer() -> (layer: ParameterLayer?, problems: [String]) {
        var chosen = newestLayer()
        guard let access = try? client.access, access.trials.isSafeStart, access.overridingPath == nil
        else { return chosen }
        // Each round rejects one state.
        while let layer = chosen.layer,
            !access.trials.countStart(
                of: trialSubject(access), serving: .init(layer.snapshot), isPackaged: layer.source == .packaged)
        {
            chosen = newestLayer()
        }
        return chosen
    }

    /// The newest state that is allowed to be active.
    private func newestLayer() -> (layer: ParameterLayer?, problems: [String]) {
        let access: CollectionAccess
        do throws(RemoteSettingsError) {
            access = try client.access
        } catch {
            return (nil, ["\(error)"])
        }
        let activated = access.entry.activated
        var problems: [String] = []
        var rejected: [SnapshotStatus.Rejected] = []
        var candidates: [CollectionAccess.Found] = []
        let subject = trial(access) == nil ? nil : trialSubject(access)
        if let kept = access.newest(of: activated, subject, rejected: &rejected) { candidates.append(kept) }
        if activation == .onNextStart, let current = access.current(), mayStart(with: current, access),
            current.isOfCatalogue
                || candidates.first.map({ current.snapshot.timestamp >= $0.snapshot.timestamp }) ?? true
        {
            candidates.insert(current, at: 0)
        }
        problems += rejected.filter { $0.reason != .older }.map(\.description)
        guard !candidates.isEmpty else { return (nil, problems) }
        let hasFilters = candidates.contains { $0.snapshot.records.mayMentionFilters }
        let kept = store.starting(access, isNeeded: hasFilters)
        func firstLayer(of candidates: [CollectionAccess.Found]) -> ParameterLayer? {
            for candidate in candidates {
                do throws(ParameterRecordError) {
                    return try ParameterLayer(
                        candidate, server: access.server, context: context(access, kept), limits: access.limits.filter)
                } catch {
                    problems.append("\(access.id): \(error)")
                }
            }
            return nil
        }
        if let layer = firstLayer(of: candidates) { return (layer, problems) }
        // A new version of the app may package records that are not parameters. The active values are then kept.
        let tried = candidates.map(\.snapshot.timestamp)
        guard let active = access.newest(of: activated, subject, usesPackaged: false, rejected: &rejected),
            !tried.contains(active.snapshot.timestamp)
        else { return (nil, problems) }
        return (firstLayer(of: [active]), problems)
    }

    /// Activates fetched values, changed signals and a changed context. Does I/O; never uses the network.
    ///
    /// Activated values stay active after a restart, and are verified again at each start.
    ///
    /// - Returns: whether a value has changed.
    /// - Throws: ``RemoteConfigError``. The active values then stay as they are.
    @discardableResult
    public func activate() async throws(RemoteConfigError) -> Bool {
        let changed: Set<ExactString>
        do {
            let access = try client.access
            let old = layers()
            changed = try await activate(access, before: old)
        } catch {
            throw RemoteConfigError(error)
        }
        if !changed.isEmpty { hub.send(.activated(updatedKeys: Set(changed.map(\.string)))) }
        return !changed.isEmpty
    }

    /// There is a state that the app's check has not seen yet.
    private struct Unchecked: Error {
        let layer: ParameterLayer
    }

    /// Activates what the app's check accepts. The check runs without the storage lock.
    private func activate(_ access: CollectionAccess, before: ConfigLayers) async throws -> Set<ExactString> {
        var checked: ParameterLayer?
        while true {
            do {
                let (changed, problem) = try await access.update { entry in
                    try Task.checkCancellation()
                    return try activate(access, &entry, before: before, checked: checked)
                }
                if let problem { access.reportStorage(problem) }
                return changed
            } catch let unchecked as Unchecked {
                try await check(unchecked.layer, access)
                checked = unchecked.layer
            }
        }
    }

    /// Activates a state under the storage lock.
    ///
    /// - Parameter checked: the state that the app's check has accepted.
    /// - Returns: the keys whose values have changed.
    private func activate(
        _ access: CollectionAccess, _ entry: inout StorageIndex.Collection, before: ConfigLayers,
        checked: ParameterLayer?
    ) throws -> Set<ExactString> {
        let trial = trial(access)
        let present = state.withLock { $0.layers } ?? before
        var target = present.parameters.flatMap { $0.server == access.server ? $0 : nil }
        let context = context(access, store.state(in: entry, access))
        let limits = access.limits.filter
        func layer(_ found: CollectionAccess.Found) throws -> ParameterLayer {
            do throws(ParameterRecordError) {
                return try ParameterLayer(found, server: access.server, context: context, limits: limits)
            } catch {
                throw RemoteConfigError.notParameters(reason: "\(access.id): \(error)")
            }
        }
        // The state that another process has activated. A state that no process would activate does not count.
        var rejected: [SnapshotStatus.Rejected] = []
        var kept = target.flatMap { entry.activated.isCurrent($0.snapshot) ? $0.timestamp : nil }
        if kept == nil, let found = access.newest(of: entry.activated, usesPackaged: false, rejected: &rejected) {
            kept = trial?.reason(against: found.snapshot) == nil ? found.snapshot.timestamp : nil
            if kept != nil, found.isNewer(than: target) {
                if let newer = try? layer(found) { target = newer } else { kept = nil }
            }
        }
        if let found = access.current(), found.isNewer(than: target), trial?.reason(against: found.snapshot) == nil {
            target = try layer(found)
            // The active state may have a later timestamp and be missing from every catalogue.
            if found.isOfCatalogue { kept = nil }
        }
        if let active = target, active.context != context {
            target = ParameterLayer(active, source: active.source, context: context, limits: limits)
        }
        if trial != nil, validate != nil, let target, target !== present.parameters, target.source == .remote,
            checked?.snapshot.payload != target.snapshot.payload
        {
            throw Unchecked(layer: target)
        }
        if let target, target.source == .remote, kept.map({ $0 < target.timestamp }) ?? true {
            access.activate(target.snapshot, in: &entry, trialSubject(access))
            store.change(&entry, access) { $0.activated = access.environment.now() }
        }
        let changed = ParameterLayer.differences(from: present.parameters, to: target)
        replaceLayers { state in
            let reads = target === present.parameters ? present.reads : ReadLog(hub)
            state.layers = ConfigLayers(
                parameters: target, defaults: state.defaults, fixed: state.overrides, reads: reads,
                packaged: packagedLayer())
            state.problems = []
        }
        return changed
    }

    /// The packaged state, whatever is active. Nothing is read until somebody asks for it.
    func packagedLayer() -> PackagedLayer {
        PackagedLayer { [client, store, givenInstallation] in
            var rejected: [SnapshotStatus.Rejected] = []
            guard let access = try? client.access, let found = access.newest(of: nil, rejected: &rejected),
                found.configSource == .packaged
            else { return nil }
            let context = store.present(access).filterContext(access, installation: givenInstallation)
            return try? ParameterLayer(
                found, server: access.server, context: context, limits: access.limits.filter)
        }
    }

    /// The context for filters: the service's context, the installation's id, the current time, and the app's signals.
    private func context(_ access: CollectionAccess, _ kept: ConfigState) -> FilterContext {
        kept.filterContext(access, installation: givenInstallation)
    }

    /// The keys whose values the next activation would change.
    ///
    /// - Throws: `ParameterRecordError` if the fetched state contains anything but parameters.
    func waitingKeys(_ access: CollectionAccess) throws(ParameterRecordError) -> Set<ExactString> {
        let active = layers().parameters
        let context = context(access, store.present(access))
        let fetched: ParameterLayer?
        // What another server has published is replaced whatever its time is.
        let own = active.flatMap { $0.server == access.server ? $0 : nil }
        if let found = access.current(), found.isNewer(than: own),
            trial(access)?.reason(against: found.snapshot) == nil
        {
            fetched = try ParameterLayer(found, server: access.server, context: context, limits: access.limits.filter)
        } else {
            fetched = own.map {
                ParameterLayer($0, source: $0.source, context: context, limits: access.limits.filter)
            }
        }
        return ParameterLayer.differences(from: active, to: fetched)
    }

    /// Tells the filters of parameters about this user or device. Each signal becomes a member of `env` with the
    /// signal's key as its name. Does I/O.
    ///
    /// Signals are kept after a restart. They take effect at the next ``activate()`` or start. The next ``fetch()``
    /// asks the server, whatever the interval is. Signals cannot replace members of the service's `appContext`,
    /// `env.id` or `env.now`.
    ///
    /// - Parameter signals: the signals to set; `nil` removes one. All others stay. A key has at most 250 characters,
    ///   and a string at most 500. There may be 100 signals, which together use at most 1 MiB of storage.
    /// - Throws: ``RemoteConfigCustomSignalsError`` for the first violation. No signal is set in that case.
    public func setCustomSignals(
        _ signals: [String: CustomSignalValue?]
    ) async throws(RemoteConfigCustomSignalsError) {
        do {
            var checked = CustomSignals()
            try checked.merge(signals)
            let access = try client.access
            _ = layers()
            _ = try await access.update(mustBeStored: true) { entry in
                try Task.checkCancellation()
                try store.change(&entry, access) { try $0.signals.merge(signals) }
            }
        } catch {
            throw error as? RemoteConfigCustomSignalsError ?? .unknown(reason: "\(error)")
        }
    }
}

extension CollectionAccess.Found {
    var configSource: RemoteConfigSource {
        switch source {
        case .packaged: .packaged
        case .override: .override
        case .cached, .notHeld: .remote
        }
    }

    /// Whether this state replaces an active one.
    ///
    /// A state that the server has signed replaces a packaged one with the same timestamp, because the packaged one may
    /// have been imported. With a catalogue, the state that it lists replaces any other.
    fileprivate func isNewer(than active: ParameterLayer?) -> Bool {
        guard let active else { return true }
        if isOfCatalogue, snapshot.payload != active.snapshot.payload { return true }
        if snapshot.timestamp == active.timestamp { return configSource == .remote && active.source == .packaged }
        return snapshot.timestamp > active.timestamp
    }
}
