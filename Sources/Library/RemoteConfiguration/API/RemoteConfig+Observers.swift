import ConfigParameters
import Dispatch
import RemoteSettings

extension RemoteConfig {
    /// Calls `listener` on the main actor when a sync has fetched values that differ from the active ones.
    ///
    /// The sync may be one of this process, or one of another process that this process notices. Nothing is activated.
    /// While there is a listener, the service keeps its update channel open (`RemoteSettingsConfig.updates`). Published
    /// values are then fetched within seconds, whatever ``RemoteConfigSettings/minimumFetchInterval`` is.
    ///
    /// - Parameter listener: receives the keys that an activation would change, or an error. A
    ///   ``RemoteConfigUpdateError`` means that updates do not arrive; it is reported once for each cause.
    ///   ``RemoteConfigError/notParameters(reason:)`` means that the fetched state cannot be used.
    @discardableResult
    public func addOnConfigUpdateListener(
        remoteConfigUpdateCompletion listener:
            @escaping @MainActor @Sendable (
                _ configUpdate: RemoteConfigUpdate?, _ error: (any Error)?
            ) -> Void
    ) -> ConfigUpdateListenerRegistration {
        announceStores()
        return hub.addListener(listen: listenForUpdates, schedule: Self.onMainActor) { message in
            MainActor.assumeIsolated {
                switch message {
                case .update(let update): listener(update, nil)
                case .problem(let error): listener(nil, error)
                }
            }
        }
    }

    /// The updates that ``addOnConfigUpdateListener(remoteConfigUpdateCompletion:)`` reports, as a stream. As in
    /// Firebase, an error ends it.
    ///
    /// Each call makes a new stream. The stream also ends with the remote config or the service. The newest sixteen
    /// unread updates are kept. Each one has all keys that wait for activation.
    public var configUpdates: AsyncThrowingStream<RemoteConfigUpdate, any Error> {
        announceStores()
        return hub.updates(listen: listenForUpdates)
    }

    /// Keeps the service's update channel open.
    private func listenForUpdates() -> Subscription {
        client.listenForUpdates { [weak hub] problem in hub?.send(problem: RemoteConfigUpdateError(problem)) }
    }

    /// Calls `observer` on the given queue for each fetch and each activation, one call at a time.
    ///
    /// While the queue is blocked, up to sixteen events wait. Older fetches are dropped. Activations are merged into
    /// one event with the keys of all of them.
    @discardableResult
    public func addObserver(
        on queue: DispatchQueue = .main, _ observer: @escaping @Sendable (RemoteConfigEvent) -> Void
    ) -> ConfigUpdateListenerRegistration {
        hub.addObserver(schedule: { work in queue.async(execute: work) }, observer)
    }

    /// Calls `observer` for each fetch and each activation, as ``addObserver(on:_:)`` does, on an executor.
    @available(iOS 18, macOS 15, tvOS 18, watchOS 11, visionOS 2, *)
    @discardableResult
    public func addObserver(
        on executor: any TaskExecutor, _ observer: @escaping @Sendable (RemoteConfigEvent) -> Void
    ) -> ConfigUpdateListenerRegistration {
        hub.addObserver(schedule: { work in _ = Task(executorPreference: executor) { work() } }, observer)
    }

    /// Calls `observer` for each value that the app reads, for an analysis that must know who saw which value.
    ///
    /// Each key is reported once, and again after an activation changes the state or new defaults change the value. The
    /// calls are made on the queue, one at a time, and reads do not wait for them.
    ///
    /// Every way to read a value counts, including a ``snapshot()`` and `decoded(as:)`. A read from a single source
    /// does not count, and neither does a key without a value, or a read before there was an observer. While the queue
    /// is blocked, the newest 4,096 reads wait.
    @discardableResult
    public func addLookupObserver(
        on queue: DispatchQueue = .global(qos: .utility), _ observer: @escaping @Sendable (RemoteConfigLookup) -> Void
    ) -> ConfigUpdateListenerRegistration {
        hub.addReader(schedule: { work in queue.async(execute: work) }, observer)
    }

    static let onMainActor: @Sendable (@escaping @Sendable () -> Void) -> Void = { work in
        _ = Task { @MainActor in work() }
    }

    /// Watches for states that syncs store. The first listener starts this.
    private func announceStores() {
        guard let collection = try? client.collection() else { return }
        let stores = collection.stores()
        let isFirst = state.withLock { state in
            guard state.announcer == nil else { return false }
            state.announcer = Task { [weak self] in
                for await _ in stores { self?.announce() }
                // The service has been shut down.
                self?.hub.finish()
            }
            return true
        }
        if isFirst { _ = layers() }
    }

    /// Tells listeners which keys the newest fetched state would change. Each state is reported once.
    private func announce() {
        guard let collection = try? client.collection(), let fetched = collection.current().snapshot?.payload else {
            return
        }
        let isNew = state.withLock { state in
            // Another server, or a catalogue under a new certificate, may have an older state.
            guard state.announced != fetched else { return false }
            state.announced = fetched
            return true
        }
        guard isNew else { return }
        do throws(ParameterError) {
            let keys = try waitingKeys(collection)
            if !keys.isEmpty { hub.send(RemoteConfigUpdate(updatedKeys: Set(keys.map(\.string)))) }
        } catch {
            hub.send(problem: RemoteConfigError.notParameters(reason: "\(collection.id): \(error)"))
        }
    }

    /// Tells observers how a fetch ended.
    func tellObservers(_ outcome: RemoteConfigFetchOutcome) {
        if let error = outcome.error { return hub.send(.fetchFailed(error)) }
        guard let collection = try? client.collection(), let keys = try? waitingKeys(collection) else { return }
        hub.send(keys.isEmpty ? .fetchedWithoutChange : .fetched(updatedKeys: Set(keys.map(\.string))))
    }
}

extension RemoteConfigUpdateError {
    fileprivate init(_ problem: UpdateProblem) {
        switch problem {
        case .noConnection(let error) where error.kind == .unsupported: self = .unavailable(reason: "\(error)")
        case .noConnection(let error): self = .streamError(reason: "\(error)")
        case .unreadable: self = .messageInvalid(reason: "\(problem)")
        case .notFetched: self = .notFetched(reason: "\(problem)")
        }
    }
}
