import ConfigParameters
import RemoteSettings
import RemoteSettingsModel

extension RemoteConfig {
    /// The app's check of values before they are activated. It must throw if the app cannot use them, for example
    /// because a value cannot be decoded.
    ///
    ///     config.validate = { _, new in _ = try new.decoded(as: Settings.self) }
    ///
    /// If it throws, the active values remain unchanged, the activation fails with
    /// ``RemoteConfigError/rejected(reason:)``, and this state of the collection is not activated again; a newer one
    /// can be. With ``RemoteConfigActivation/onNextStart``, values are checked when they are fetched, before they are
    /// stored. The check runs off the main thread, for at most `RemoteSettingsConfig.validationTimeout`. Set it before
    /// the first read.
    ///
    /// - Parameters:
    ///   - old: the active values.
    ///   - new: the values that would be activated next.
    public var validate: (@Sendable (_ old: RemoteConfigSnapshot, _ new: RemoteConfigSnapshot) throws -> Void)? {
        get { state.withLock { $0.validate } }
        set {
            state.withLock { $0.validate = newValue }
            checkBeforeStarts()
        }
    }

    /// Marks this start of the app as successful. Like `RemoteSettingsService.markStartSuccessful()`, which it calls,
    /// it applies to every collection that the app has read.
    ///
    /// - Throws: ``RemoteConfigError/storage(reason:)`` if the mark cannot be stored. The mark is still effective in
    ///   this process.
    public func markStartSuccessful() throws(RemoteConfigError) {
        do {
            try client.markStartSuccessful()
        } catch {
            throw .storage(reason: "\(error)")
        }
    }

    /// Rejects the active values, as repeated failed starts would. Does I/O.
    ///
    /// Their state is not activated again, but a newer one can be. From now on, the last values that the app started
    /// successfully with are active. If there are none, the packaged values are used, or else the app's defaults.
    ///
    /// - Throws: ``RemoteConfigError/storage(reason:)`` if `RemoteSettingsConfig.usesSafeStart` is not set, if only
    ///   defaults are in use, or if the rejection cannot be stored. In the last case, the rejection is still effective
    ///   in this process.
    public func rejectState() throws(RemoteConfigError) {
        try leaveState(because: "the app rejected it", toPrevious: false)
    }

    /// Returns to the values that were active before. The current state is rejected as by ``rejectState()``. Does I/O.
    ///
    /// - Throws: ``RemoteConfigError/storage(reason:)`` if no earlier values are stored, and the errors of
    ///   ``rejectState()``.
    public func rollback() throws(RemoteConfigError) {
        try leaveState(because: "the app rolled back to earlier values", toPrevious: true)
    }

    private func leaveState(because reason: String, toPrevious: Bool) throws(RemoteConfigError) {
        do {
            let collection = try client.collection()
            let (trials, subject) = (collection.session.trials, trialSubject(collection))
            guard trials.isSafeStart else { throw RemoteSettingsError.safeStartIsOff }
            guard let active = layers().parameters, active.source != .override else {
                throw RemoteConfigError.storage(reason: "\(collection.id): no fetched or packaged values are active")
            }
            let previous = collection.previous(subject).map { StateTrial.State($0) }
            let state = StateTrial.State(active.snapshot)
            guard !toPrevious || previous != nil && previous != state else {
                throw RemoteSettingsError.nothingToGoBackTo("\(collection.id)")
            }
            let result = Result {
                try trials.reject(state, of: subject, because: reason, andTrust: toPrevious ? previous : nil)
            }
            let (layer, problems) = startingLayer()
            replaceLayers { state in
                state.show(layer, ReadLog(hub), packagedLayer())
                state.problems = problems
            }
            let changed = ParameterLayer.differences(from: active, to: layer)
            if !changed.isEmpty { hub.send(.activated(updatedKeys: Set(changed.map(\.string)))) }
            try result.get()
        } catch {
            throw RemoteConfigError(error)
        }
    }

    // MARK: - Checks before activation
    /// Returns the record of the app's starts and rejected states; `nil` without safe start and the app's check.
    func trial(_ collection: LocalCollection) -> StateTrial? {
        let trials = collection.session.trials
        guard trials.isSafeStart || validate != nil else { return nil }
        return trials.trial(of: trialSubject(collection))
    }

    /// Returns which record of starts to use: the one for activated states, or, with activation at the next start, the
    /// one for synced states, because these become active without an activation.
    func trialSubject(_ collection: LocalCollection) -> StateTrials.Subject {
        activation == .onNextStart ? collection.subject : collection.activated
    }

    /// Returns whether a fetched state may become active at a start.
    func mayStart(with found: CurrentState, _ collection: LocalCollection) -> Bool {
        guard let snapshot = found.snapshot, found.source.configSource == .remote, let trial = trial(collection)
        else { return true }
        return !trial.usesPackagedOnly && trial.reason(against: snapshot) == nil
    }

    /// Lets the app check values, and rejects their state if the check fails.
    ///
    /// - Throws: ``RemoteConfigError/rejected(reason:)``, or `CancellationError`.
    func check(_ new: ParameterLayer, _ collection: LocalCollection) async throws {
        guard let refusal = try await refusal(of: new, collection) else { return }
        // Do not reject a state that is already active: its values may fail the check only because signals have
        // changed.
        if layers().parameters?.snapshot.payload != new.snapshot.payload {
            do {
                try collection.session.trials.reject(
                    .init(new.snapshot), of: trialSubject(collection), because: refusal, byCheck: true)
            } catch {
                collection.session.logger.warning(
                    "\(collection.id): the rejection of values could not be stored: \(error)")
            }
        }
        let rejection = RemoteSettingsError.rejected(collection.id, new.timestamp, refusal)
        collection.report(rejection)
        throw RemoteConfigError.rejected(reason: "\(rejection)")
    }

    private func refusal(of new: ParameterLayer, _ collection: LocalCollection) async throws -> String? {
        guard let validate else { return nil }
        let layers = layers()
        func values(_ parameters: ParameterLayer?) -> RemoteConfigSnapshot {
            RemoteConfigSnapshot(
                layers: ConfigLayers(
                    parameters: parameters, defaults: layers.defaults, fixed: layers.fixed, reads: nil))
        }
        let (old, candidate) = (values(layers.parameters), values(new))
        let config = collection.session.config
        return try await StateCheck.refusal(within: config.validationTimeout, config.environment) {
            try validate(old, candidate)
        }
    }

    /// Makes syncs check values before they store them, if stored values become active at the next start.
    private func checkBeforeStarts() {
        guard activation == .onNextStart, let collection = try? client.collection() else { return }
        collection.session.trials.addCheck(of: collection.id) { [weak self] snapshot in
            guard let self else { return nil }
            let context = self.store.present(collection).filterContext(collection, installation: self.givenInstallation)
            // A state with records that are not parameters never becomes active, and the fetch reports it, so it is not
            // checked here.
            let layer = try? ParameterLayer(nil, snapshot, of: collection, context)
            guard let layer else { return nil }
            return try await self.refusal(of: layer, collection)
        }
    }
}
