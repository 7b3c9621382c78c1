import Dispatch
import LibC
import RemoteSettings
import Synchronization

/// Something that happened to a ``RemoteConfig``.
public enum RemoteConfigEvent: Sendable {
    /// A fetch has succeeded, and an activation would change these keys.
    case fetched(updatedKeys: Set<String>)
    /// A fetch has succeeded, and an activation would change nothing.
    case fetchedWithoutChange
    /// A fetch has failed, or was not made.
    case fetchFailed(RemoteConfigError)
    /// An activation has changed the values of these keys. Every observer is told, whoever activated.
    case activated(updatedKeys: Set<String>)
}

/// What a real-time update or a sync has brought: the keys whose values an activation would change.
public struct RemoteConfigUpdate: Hashable, Sendable {
    /// Keys that were added, removed or changed, compared with what is active.
    public let updatedKeys: Set<String>
}

/// The registration of a listener or observer. It stays registered until ``remove()``, whether or not this is kept.
public final class ConfigUpdateListenerRegistration: Sendable {
    enum Message: Sendable {
        case event(RemoteConfigEvent)
        case update(RemoteConfigUpdate)
        case problem(RemoteConfigError)
    }

    private struct State {
        var pending: [Message] = []
        var isRemoved = false
        /// The thread that a call is running on.
        var caller: UInt?
        var waiting = 0
    }

    private let state = Mutex(State())
    private let ended = DispatchSemaphore(value: 0)
    private let schedule: @Sendable (@escaping @Sendable () -> Void) -> Void
    private let handle: @Sendable (Message) -> Void
    private let forget: @Sendable (ConfigUpdateListenerRegistration) -> Void

    init(
        schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        forget: @escaping @Sendable (ConfigUpdateListenerRegistration) -> Void,
        handle: @escaping @Sendable (Message) -> Void
    ) {
        self.schedule = schedule
        self.handle = handle
        self.forget = forget
    }

    /// Ends the calls. None begins or is still running when this returns; called from the listener itself, only that call is.
    ///
    /// Where a call is running on another thread, this waits for its end: do not call it while holding something that the
    /// listener needs.
    public func remove() {
        forget(self)
        let me = Self.thread
        let mustWait = state.withLock { state in
            state.isRemoved = true
            state.pending = []
            guard let caller = state.caller, caller != me else { return false }
            state.waiting += 1
            return true
        }
        if mustWait { ended.wait() }
    }

    /// Calls the listener where it wants to be called, in the order of the messages, one call at a time.
    func send(_ message: Message) {
        let isAccepted = state.withLock { state in
            if !state.isRemoved { state.pending.append(message) }
            return !state.isRemoved
        }
        if isAccepted { schedule { self.callOnce() } }
    }

    private func callOnce() {
        let message = state.withLock { state -> Message? in
            // A call that is under way on another thread takes what is pending when it ends.
            guard !state.isRemoved, state.caller == nil, !state.pending.isEmpty else { return nil }
            state.caller = Self.thread
            return state.pending.removeFirst()
        }
        guard var current = message else { return }
        while true {
            handle(current)
            let (next, waiting) = state.withLock { state -> (Message?, Int) in
                if !state.isRemoved, !state.pending.isEmpty { return (state.pending.removeFirst(), 0) }
                state.caller = nil
                defer { state.waiting = 0 }
                return (nil, state.waiting)
            }
            for _ in 0..<waiting { ended.signal() }
            guard let next else { return }
            current = next
        }
    }

    private static var thread: UInt {
        #if canImport(Darwin)
            unsafe UInt(bitPattern: pthread_self())
        #else
            UInt(pthread_self())
        #endif
    }
}

/// The listeners and observers of a remote config.
final class ObserverHub: Sendable {
    private struct State {
        var registrations: [ConfigUpdateListenerRegistration] = []
        var streams: [Int: AsyncThrowingStream<RemoteConfigUpdate, any Error>.Continuation] = [:]
        /// The registrations that want to hear of updates as soon as they are published.
        var listeners: Set<ObjectIdentifier> = []
        /// Keeps the service's update channel open, while there are such registrations or streams.
        var listening: UpdateListening?
        var count = 0
        var isFinished = false

        var wantsUpdates: Bool { !isFinished && !(listeners.isEmpty && streams.isEmpty) }
    }

    private let state = Mutex(State())

    /// - Parameter listen: makes what keeps the update channel open, for a registration that wants to hear of updates as soon
    ///   as they are published; `nil` for other registrations.
    func add(
        listen: (() -> UpdateListening)? = nil,
        schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        handle: @escaping @Sendable (ConfigUpdateListenerRegistration.Message) -> Void
    ) -> ConfigUpdateListenerRegistration {
        let registration = ConfigUpdateListenerRegistration(
            schedule: schedule,
            forget: { [weak self] removed in
                self?.state.withLock { state in
                    state.registrations.removeAll { $0 === removed }
                    state.listeners.remove(ObjectIdentifier(removed))
                }
                self?.endListening()
            }, handle: handle)
        state.withLock { state in
            state.registrations.append(registration)
            if listen != nil { state.listeners.insert(ObjectIdentifier(registration)) }
        }
        if let listen { beginListening(listen) }
        return registration
    }

    private func beginListening(_ listen: () -> UpdateListening) {
        guard state.withLock({ $0.wantsUpdates && $0.listening == nil }) else { return }
        let new = listen()
        state.withLock { if $0.wantsUpdates, $0.listening == nil { $0.listening = new } }
    }

    private func endListening() {
        // It is released outside of the lock.
        let ended = state.withLock { state -> UpdateListening? in
            guard !state.wantsUpdates else { return nil }
            defer { state.listening = nil }
            return state.listening
        }
        withExtendedLifetime(ended) {}
    }

    /// - Parameter listen: makes what keeps the update channel open.
    func updates(listen: () -> UpdateListening) -> AsyncThrowingStream<RemoteConfigUpdate, any Error> {
        // Each update names all keys that wait for activation: of those that nobody reads, the newest ones are enough.
        let (stream, continuation) = AsyncThrowingStream<RemoteConfigUpdate, any Error>.makeStream(
            bufferingPolicy: .bufferingNewest(16))
        let number = state.withLock { state -> Int? in
            guard !state.isFinished else { return nil }
            state.count += 1
            state.streams[state.count] = continuation
            return state.count
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.streams.removeValue(forKey: number) }
            self?.endListening()
        }
        beginListening(listen)
        return stream
    }

    func send(_ event: RemoteConfigEvent) { send(.event(event)) }

    func send(_ update: RemoteConfigUpdate) {
        send(.update(update))
        let streams = state.withLock { $0.streams.values }
        for stream in streams { stream.yield(update) }
    }

    func send(_ message: ConfigUpdateListenerRegistration.Message) {
        let registrations = state.withLock { $0.registrations }
        for registration in registrations { registration.send(message) }
    }

    func finish() {
        let streams = state.withLock { state in
            defer { state.streams = [:] }
            state.isFinished = true
            return state.streams.values
        }
        for stream in streams { stream.finish() }
        endListening()
    }
}
