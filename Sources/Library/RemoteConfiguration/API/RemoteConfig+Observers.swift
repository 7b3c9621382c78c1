import ConfigParameters
import Dispatch
import RemoteSettings
import RemoteSettingsModel

extension RemoteConfig {
    /// Adds a listener that is called on the main actor when a sync has fetched values that differ from the active
    /// ones.
    ///
    /// This includes syncs of other processes, as soon as this process notices them. Nothing is activated. While there
    /// is a listener, the service keeps its update channel open (`RemoteSettingsConfig.updates`). Published values are
    /// then fetched within seconds, regardless of ``RemoteConfigSettings/minimumFetchInterval``.
    ///
    /// - Parameter listener: receives the keys that an activation would change, or an error. A
    ///   ``RemoteConfigUpdateError`` means that announcements do not reach the app; it is reported once for each cause.
    ///   ``RemoteConfigError/notParameters(reason:)`` means that the fetched state cannot be used.
    @discardableResult
    public func addOnConfigUpdateListener(
        remoteConfigUpdateCompletion listener:
            @escaping @MainActor @Sendable (_ configUpdate: RemoteConfigUpdate?, _ error: (any Error)?) -> Void
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

    /// A stream of the updates that ``addOnConfigUpdateListener(remoteConfigUpdateCompletion:)`` reports. As in
    /// Firebase, it throws the first error and finishes.
    ///
    /// Each access creates a new stream. It also finishes when the remote config is released or the service is shut
    /// down. The newest sixteen unread updates are kept. Each contains all keys whose changes have not been activated
    /// yet.
    public var configUpdates: AsyncThrowingStream<RemoteConfigUpdate, any Error> {
        announceStores()
        return hub.updates(listen: listenForUpdates)
    }

    /// Keeps the service's update channel open.
    private func listenForUpdates() -> Subscription {
        client.listenForUpdates { [weak hub] problem in hub?.send(problem: RemoteConfigUpdateError(problem)) }
    }

    /// Adds an observer that is called on the main actor for each fetch and each activation, one call at a time.
    ///
    /// While the main actor is blocked, up to sixteen events are kept. Beyond that, the oldest fetch is dropped or, if
    /// there is none, the two oldest activations are merged into one event with the keys of both.
    @discardableResult
    public func addObserver(
        _ observer: @escaping @MainActor @Sendable (RemoteConfigEvent) -> Void
    ) -> ConfigUpdateListenerRegistration {
        hub.addObserver(schedule: Self.onMainActor) { event in MainActor.assumeIsolated { observer(event) } }
    }

    /// Adds an observer that is called on a queue for each fetch and each activation. See ``addObserver(_:)``.
    @discardableResult
    public func addObserver(
        on queue: DispatchQueue, _ observer: @escaping @Sendable (RemoteConfigEvent) -> Void
    ) -> ConfigUpdateListenerRegistration {
        hub.addObserver(schedule: { work in queue.async(execute: work) }, observer)
    }

    /// Adds an observer that is called on an executor for each fetch and each activation. See ``addObserver(_:)``.
    @available(iOS 18, macOS 15, tvOS 18, watchOS 11, visionOS 2, *)
    @discardableResult
    public func addObserver(
        on executor: any TaskExecutor, _ observer: @escaping @Sendable (RemoteConfigEvent) -> Void
    ) -> ConfigUpdateListenerRegistration {
        hub.addObserver(schedule: { work in _ = Task(executorPreference: executor) { work() } }, observer)
    }

    /// Adds an observer that is called for each value that the app reads, for example to record in an experiment which
    /// users saw which value.
    ///
    /// Each key is reported once, and again after an activation changes the state or new defaults change the value. The
    /// calls are made on the queue, one at a time, and reads do not wait for them.
    ///
    /// All forms of reading a value are reported, including a ``snapshot()`` and `decoded(as:)`. The exceptions are
    /// reads from a single source, reads of a key without a value, and reads before the first observer was added. While
    /// the queue is blocked, the newest 4,096 reads are kept.
    @discardableResult
    public func addLookupObserver(
        on queue: DispatchQueue = .global(qos: .utility), _ observer: @escaping @Sendable (RemoteConfigLookup) -> Void
    ) -> ConfigUpdateListenerRegistration {
        hub.addReader(schedule: { work in queue.async(execute: work) }, observer)
    }

    static let onMainActor: @Sendable (@escaping @Sendable () -> Void) -> Void = { work in
        _ = Task { @MainActor in work() }
    }

    /// Starts to watch for states stored by syncs, unless an earlier call has done so.
    private func announceStores() {
        guard let collection = try? client.collection() else { return }
        let stores = collection.stores()
        let isFirst = state.withLock { state in
            guard state.announcer == nil else { return false }
            state.announcer = Task { [weak self] in
                for await _ in stores { self?.announce() }
                // The stream finishes when the service is shut down.
                self?.hub.finish()
            }
            return true
        }
        if isFirst { _ = layers() }
    }

    /// Notifies listeners of the keys that the newest fetched state would change. Each state is reported once.
    private func announce() {
        guard let collection = try? client.collection(), let fetched = collection.current().snapshot?.payload else {
            return
        }
        let isNew = state.withLock { state in
            // Compare the payload and not the timestamp: after a change of the server, the state may have an earlier
            // timestamp.
            guard state.announced != fetched else { return false }
            state.announced = fetched
            return true
        }
        guard isNew else { return }
        do throws(Failure) {
            let keys = try waitingKeys(collection)
            if !keys.isEmpty { hub.send(RemoteConfigUpdate(updatedKeys: Set(keys.map(\.string)))) }
        } catch {
            hub.send(problem: RemoteConfigError.notParameters(reason: "\(collection.id): \(error)"))
        }
    }

    /// Notifies observers of the result of a fetch.
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
