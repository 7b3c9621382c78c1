import ConfigParameters
import RemoteSettings
import RemoteSettingsModel

extension RemoteConfig {
    /// The app's own check of values before they are activated. It throws if the app cannot use them, such as because a
    /// value does not decode.
    ///
    ///     config.validate = { _, new in _ = try new.decoded(as: Settings.self) }
    ///
    /// The active values then stay, the activation fails with ``RemoteConfigError/rejected(reason:)``, and that state
    /// of the collection is not activated any more; a newer one is. With ``RemoteConfigActivation/onNextStart``,
    /// values are checked when they are fetched, before they are stored. The check runs off the main thread, for at
    /// most `RemoteSettingsConfig.validationTimeout`. Set it before the first read.
    ///
    /// - Parameters:
    ///   - old: the active values.
    ///   - new: the values of the next activation.
    public var validate: (@Sendable (_ old: RemoteConfigSnapshot, _ new: RemoteConfigSnapshot) throws -> Void)? {
        get { state.withLock { $0.validate } }
        set {
            state.withLock { $0.validate = newValue }
            checkBeforeStarts()
        }
    }

    /// Says that this start of the app got well. It is `RemoteSettingsService.markStartSuccessful()` of the service,
    /// for this remote config and everything else that the app has read.
    ///
    /// - Throws: ``RemoteConfigError/storage(reason:)`` if it cannot be stored. It still holds for this process.
    public func markStartSuccessful() throws(RemoteConfigError) {
        do {
            try client.markStartSuccessful()
        } catch {
            throw .storage(reason: "\(error)")
        }
    }

    /// Says that the active values are bad, as the next failed starts would. Does I/O.
    ///
    /// Their state is set aside: from now on the last values that the app has started well with are active, else the
    /// packaged ones, else the app's defaults. It is not activated again; a newer one is.
    ///
    /// - Throws: ``RemoteConfigError/storage(reason:)`` if `RemoteSettingsConfig.safeStart` is not set, if only
    ///   defaults are in use, or if it cannot be stored. In the last case it still holds for this process.
    public func rejectState() throws(RemoteConfigError) {
        try leaveState(because: "the app said that it is bad", toPrevious: false)
    }

    /// Goes back to the values that were active before, whose successor is then set aside as by ``rejectState()``. Does
    /// I/O.
    ///
    /// - Throws: ``RemoteConfigError/storage(reason:)`` if none are stored, and as ``rejectState()`` does.
    public func rollback() throws(RemoteConfigError) {
        try leaveState(because: "the app went back to the values before it", toPrevious: true)
    }

    private func leaveState(because reason: String, toPrevious: Bool) throws(RemoteConfigError) {
        do {
            let access = try client.access
            let (trials, subject) = (access.trials, trialSubject(access))
            guard trials.isSafeStart else { throw RemoteSettingsError.safeStartIsOff }
            guard let active = layers().parameters, active.source != .override else {
                throw RemoteConfigError.storage(reason: "\(access.id): expected active values, found only defaults")
            }
            let previous = access.previous(subject).map { StateTrial.State($0) }
            let state = StateTrial.State(active.snapshot)
            guard !toPrevious || previous != nil && previous != state else {
                throw RemoteSettingsError.nothingToGoBackTo("\(access.id)")
            }
            let result = Result {
                try trials.setAside(state, of: subject, because: reason, andTrust: toPrevious ? previous : nil)
            }
            let (layer, problems) = startingLayer()
            replaceLayers { state in
                state.layers = ConfigLayers(
                    parameters: layer, defaults: state.defaults, fixed: state.overrides, reads: ReadLog(hub),
                    packaged: packagedLayer())
                state.problems = problems
            }
            let changed = ParameterLayer.differences(from: active, to: layer)
            if !changed.isEmpty { hub.send(.activated(updatedKeys: changed)) }
            try result.get()
        } catch {
            throw RemoteConfigError(error)
        }
    }
}

// MARK: - What activations ask

extension RemoteConfig {
    /// How the collection's states have fared; `nil` if nobody asks.
    func trial(_ access: CollectionAccess) -> StateTrial? {
        guard access.trials.isSafeStart || validate != nil else { return nil }
        return access.trials.trial(of: trialSubject(access))
    }

    /// What is activated is kept apart from the cache; what becomes active at the next start is the cached state.
    func trialSubject(_ access: CollectionAccess) -> StateTrials.Subject {
        activation == .onNextStart ? access.cachedTrial : access.keptTrial
    }

    /// Whether a fetched state may become active at a start.
    func mayStart(with found: CollectionAccess.Found, _ access: CollectionAccess) -> Bool {
        guard found.configSource == .remote, let trial = trial(access) else { return true }
        return !trial.usesPackagedOnly && trial.reason(against: found.snapshot) == nil
    }

    /// Has the app check values, and sets their state aside if it refuses them.
    ///
    /// - Throws: ``RemoteConfigError/rejected(reason:)``, or `CancellationError`.
    func check(_ new: ParameterLayer, _ access: CollectionAccess) async throws {
        guard let refusal = try await refusal(of: new, access) else { return }
        // Other signals may have made a value bad. The state that is active all the same is not at fault.
        if layers().parameters?.snapshot.payload != new.snapshot.payload {
            do {
                try access.trials.setAside(
                    .init(new.snapshot), of: trialSubject(access), because: refusal, byCheck: true)
            } catch {
                access.warn("\(access.id): it could not be stored that values were refused: \(error)")
            }
        }
        let rejection = StateRejection(access.id, new.timestamp, refusal)
        access.report(rejection)
        throw RemoteConfigError.rejected(reason: "\(rejection)")
    }

    private func refusal(of new: ParameterLayer, _ access: CollectionAccess) async throws -> String? {
        guard let validate else { return nil }
        let layers = layers()
        func values(_ parameters: ParameterLayer?) -> RemoteConfigSnapshot {
            RemoteConfigSnapshot(
                layers: ConfigLayers(
                    parameters: parameters, defaults: layers.defaults, fixed: layers.fixed, reads: nil))
        }
        let (old, candidate) = (values(layers.parameters), values(new))
        return try await StateCheck.refusal(within: access.validationTimeout, access.environment) {
            try validate(old, candidate)
        }
    }

    /// Has what becomes active at a start checked before it is stored.
    private func checkBeforeStarts() {
        guard activation == .onNextStart, let access = try? client.access else { return }
        access.trials.addCheck(of: access.id) { [weak self] snapshot in
            guard let self else { return nil }
            let context = self.store.present(access).filterContext(access, installation: self.givenInstallation)
            // What holds no parameters is never active, and the fetch says so.
            let layer = try? ParameterLayer(
                .init(fetched: snapshot), server: access.server, context: context,
                limits: access.limits.filter)
            guard let layer else { return nil }
            return try await self.refusal(of: layer, access)
        }
    }
}
