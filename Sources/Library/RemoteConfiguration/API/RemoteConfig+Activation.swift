import ConfigParameters
import RemoteSettings
import RemoteSettingsModel
import SnapshotBundle
import TargetFilter

extension RemoteConfig {
    /// Returns the state that is active when the app starts. If `RemoteSettingsConfig.usesSafeStart` is set, this also
    /// counts the start.
    func startingLayer() -> (layer: ParameterLayer?, problems: [String]) {
        var chosen = newestLayer()
        guard let collection = try? client.collection(), collection.session.trials.isSafeStart,
            collection.overridingPath == nil
        else { return chosen }
        // If the start must not be made with a state, that state is rejected, and the next round tries another one.
        while let layer = chosen.layer,
            !collection.session.trials.countStart(
                of: trialSubject(collection), serving: .init(layer.snapshot), isPackaged: layer.source == .packaged)
        { chosen = newestLayer() }
        return chosen
    }

    /// Returns the newest state that may be active, and the reasons that newer ones are not used.
    private func newestLayer() -> (layer: ParameterLayer?, problems: [String]) {
        let collection: LocalCollection
        do throws(RemoteSettingsError) {
            collection = try client.collection()
        } catch {
            return (nil, ["\(error)"])
        }
        let activated = collection.session.storage.index()[collection.activated.key].activated
        let subject = trial(collection) == nil ? nil : trialSubject(collection)
        let kept = collection.newest(of: activated, subject)
        var problems = kept.unused.filter { $0.reason != .older }.map(\.description)
        var candidates = [kept]
        if activation == .onNextStart {
            let current = collection.current()
            if mayStart(with: current, collection), current.comesBefore(kept) { candidates.insert(current, at: 0) }
        }
        let hasFilters = candidates.contains { $0.snapshot?.records.mayMentionFilters == true }
        let config = store.starting(collection, isNeeded: hasFilters)
        func firstLayer(of candidates: [CurrentState]) -> ParameterLayer? {
            for candidate in candidates {
                do throws(Failure) {
                    guard let snapshot = candidate.snapshot else { continue }
                    return try ParameterLayer(candidate, snapshot, of: collection, context(collection, config))
                } catch {
                    problems.append("\(collection.id): \(error)")
                }
            }
            return nil
        }
        if let layer = firstLayer(of: candidates) { return (layer, problems) }
        // A new version of the app may package records that are not parameters. In that case, keep the active values.
        let active = collection.newest(of: activated, subject, usesPackaged: false)
        guard !candidates.contains(where: { $0.timestamp == active.timestamp }) else { return (nil, problems) }
        return (firstLayer(of: [active]), problems)
    }

    /// The name of ``activate()`` in earlier versions of Firebase.
    @available(*, unavailable, renamed: "activate()")
    public func activateFetched() -> Bool { false }

    /// Activates fetched values, changed signals and a changed context. Does I/O; never uses the network.
    ///
    /// Activated values remain active after a restart, and are verified again at each start.
    ///
    /// - Returns: whether a value has changed.
    /// - Throws: ``RemoteConfigError``. The active values then remain unchanged.
    @discardableResult
    public func activate() async throws(RemoteConfigError) -> Bool {
        let changed: Set<ExactString>
        do {
            let collection = try client.collection()
            let old = layers()
            changed = try await activate(collection, before: old)
        } catch {
            throw RemoteConfigError(error)
        }
        if !changed.isEmpty { hub.send(.activated(updatedKeys: Set(changed.map(\.string)))) }
        return !changed.isEmpty
    }

    private enum Activation {
        /// The keys whose values have changed.
        case changed(Set<ExactString>)
        /// This state must pass the app's check before it can be activated. Nothing was activated.
        case unchecked(ParameterLayer)
    }

    /// Activates the newest state, after the app's check has accepted it. The check runs without the storage lock.
    private func activate(_ collection: LocalCollection, before: ConfigLayers) async throws -> Set<ExactString> {
        var checked: ParameterLayer?
        while true {
            var present: ConfigLayers?
            let (activation, problem) = try await collection.session.storage.update { index in
                try Task.checkCancellation()
                // If this is called again, the first call has already replaced the layers.
                let old = present ?? state.withLock { $0.layers } ?? before
                present = old
                return try activate(collection, &index, from: old, checked: checked)
            }
            switch activation {
            case .changed(let keys):
                if let problem { collection.session.reportStorage(problem) }
                return keys
            case .unchecked(let layer):
                try await check(layer, collection)
                checked = layer
            }
        }
    }

    /// Activates the newest state, unless the app has to check it first. Runs under the storage lock.
    ///
    /// - Parameters:
    ///   - present: the layers with which the result is compared.
    ///   - checked: the state that the app's check has accepted; `nil` if there is none yet.
    private func activate(
        _ collection: LocalCollection, _ index: inout StorageIndex, from present: ConfigLayers,
        checked: ParameterLayer?
    ) throws -> Activation {
        let trial = trial(collection)
        var target = present.parameters.flatMap { $0.server == collection.session.serverIdentity ? $0 : nil }
        let context = context(collection, store.state(in: index, collection))
        func layer(_ found: CurrentState, _ snapshot: Snapshot) throws -> ParameterLayer {
            return try mapFailure(of: try ParameterLayer(found, snapshot, of: collection, context)) {
                RemoteConfigError.notParameters(reason: "\(collection.id): \($0)")
            }
        }
        // Do not replace a newer state that another process has activated, unless it was rejected or cannot be used.
        let activated = index[collection.activated.key].activated
        var kept = target.flatMap { activated.isCurrent($0.snapshot) ? $0.standing : nil }
        if kept == nil, case let found = collection.newest(of: activated, usesPackaged: false),
            let snapshot = found.snapshot
        {
            kept = trial?.reason(against: snapshot) == nil ? found.standing : nil
            if kept != nil, found.isNewer(than: target) {
                if let newer = try? layer(found, snapshot) { target = newer } else { kept = nil }
            }
        }
        let current = collection.current()
        if let snapshot = current.snapshot, current.isNewer(than: target), trial?.reason(against: snapshot) == nil {
            target = try layer(current, snapshot)
        }
        if let active = target, active.context != context {
            target = ParameterLayer(active, context)
        }
        if trial != nil, validate != nil, let target, target !== present.parameters, target.source == .remote,
            checked?.snapshot.payload != target.snapshot.payload
        {
            return .unchecked(target)
        }
        let situation = Situation(.stored)
        if let target, target.source == .remote,
            kept.map({ succession(of: target.standing, after: $0, in: situation) == .replace }) ?? true
        {
            collection.activate(target.snapshot, in: &index, trialSubject(collection))
            store.change(&index, collection) { $0.activated = collection.session.now }
        }
        let changed = ParameterLayer.differences(from: present.parameters, to: target)
        replaceLayers { state in
            let reads = target === present.parameters ? present.reads : ReadLog(hub)
            state.show(target, reads, packagedLayer())
            state.problems = []
        }
        return .changed(changed)
    }

    /// Returns the packaged state, even if another state is active. It is read only when it is needed.
    func packagedLayer() -> PackagedLayer {
        PackagedLayer { [client, store, givenInstallation] in
            guard let collection = try? client.collection() else { return nil }
            let found = collection.newest()
            guard let snapshot = found.snapshot, found.source.configSource == .packaged else { return nil }
            let context = store.present(collection).filterContext(collection, installation: givenInstallation)
            return try? ParameterLayer(found, snapshot, of: collection, context)
        }
    }

    /// Returns the context for filters: the service's context, the installation's id, the current time, and the app's
    /// signals.
    private func context(_ collection: LocalCollection, _ kept: ConfigState) -> FilterContext {
        kept.filterContext(collection, installation: givenInstallation)
    }

    /// Returns the keys whose values the next activation would change.
    ///
    /// - Throws: `Failure` if the fetched state contains anything but parameters.
    func waitingKeys(_ collection: LocalCollection) throws(Failure) -> Set<ExactString> {
        let active = layers().parameters
        let context = context(collection, store.present(collection))
        let fetched: ParameterLayer?
        // If the configured server has changed, the active state is replaced regardless of its timestamp.
        let own = active.flatMap { $0.server == collection.session.serverIdentity ? $0 : nil }
        let found = collection.current()
        if let snapshot = found.snapshot, found.isNewer(than: own), trial(collection)?.reason(against: snapshot) == nil
        {
            fetched = try ParameterLayer(found, snapshot, of: collection, context)
        } else {
            fetched = own.map { ParameterLayer($0, context) }
        }
        return ParameterLayer.differences(from: active, to: fetched)
    }

    /// Sets signals: information about this user or device, for use in the filters of parameters. In filters, each
    /// signal is a member of `env` with the signal's key as its name. Does I/O.
    ///
    /// Signals persist across restarts. They take effect at the next ``activate()`` or start. The next ``fetch()``
    /// contacts the server, regardless of the interval. Signals cannot replace members of the service's `appContext`,
    /// `env.id` or `env.now`.
    ///
    /// - Parameter signals: the signals to set; `nil` removes one. Others remain set. A key may have 250 characters,
    ///   and a string value 500. There may be 100 signals, which together use at most 1 MiB.
    /// - Throws: ``RemoteConfigCustomSignalsError`` for the first violation. No signal is set in that case.
    public func setCustomSignals(_ signals: [String: CustomSignalValue?]) async throws(RemoteConfigCustomSignalsError) {
        do {
            var checked = CustomSignals()
            try checked.merge(signals)
            let collection = try client.collection()
            _ = layers()
            _ = try await collection.session.storage.update(mustBeStored: true) { index in
                try Task.checkCancellation()
                try store.change(&index, collection) { try $0.signals.merge(signals) }
            }
        } catch {
            throw error as? RemoteConfigCustomSignalsError ?? .unknown(reason: "\(error)")
        }
    }
}

extension CollectionStatus.Source {
    var configSource: RemoteConfigSource {
        switch self {
        case .packaged: .packaged
        case .override: .override
        case .cached, .noSnapshot, .unknown: .remote
        }
    }
}

extension CurrentState {
    /// Returns whether this state becomes active at a start instead of the state that was activated before.
    fileprivate func comesBefore(_ kept: CurrentState) -> Bool {
        guard let standing, let other = kept.standing else { return snapshot != nil }
        let verdict = SnapshotBundle.succession(of: standing, after: other, in: Situation(.stored))
        return [.replace, .same, .keep(.sameTime)].contains(verdict)
    }

    /// Returns whether an activation replaces the active state with this one.
    ///
    /// A fetched state replaces a packaged one with the same timestamp, because the packaged one may have been
    /// imported.
    fileprivate func isNewer(than active: ParameterLayer?) -> Bool {
        guard let standing else { return false }
        guard let active else { return true }
        let verdict = SnapshotBundle.succession(of: standing, after: active.standing, in: Situation(.stored))
        let isFetched = source.configSource == .remote && active.source == .packaged
        return verdict == .replace || isFetched && verdict == .keep(.sameTime)
    }
}
