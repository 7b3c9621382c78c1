import RemoteSettings
import RemoteSettingsModel

/// An event of a ``RemoteConfig``.
public enum RemoteConfigEvent: Sendable {
    /// A fetch has succeeded, and an activation would change these keys.
    case fetched(updatedKeys: Set<String>)
    /// A fetch has succeeded, and an activation would change nothing.
    case fetchedWithoutChange
    /// A fetch has failed, or was not made.
    case fetchFailed(RemoteConfigError)
    /// An activation has changed the values of these keys. Every observer is told, whoever activated them.
    case activated(updatedKeys: Set<String>)
}

/// The result of a real-time update or a sync: the keys whose values an activation would change.
public struct RemoteConfigUpdate: Hashable, Sendable {
    /// The keys that were added, removed or changed, compared with the active values.
    public let updatedKeys: Set<String>

    /// Makes an update, for an app's tests.
    public init(updatedKeys: Set<String>) { self.updatedKeys = updatedKeys }
}

/// The registration of a listener or observer. It lasts until ``remove()``, even if nothing refers to this object.
public final class ConfigUpdateListenerRegistration: Sendable {
    private let end: @Sendable () -> Void

    init(end: @escaping @Sendable () -> Void) { self.end = end }

    /// Ends the calls. It waits for nothing, so it can be called anywhere, even on the main thread or in the listener.
    ///
    /// The listener's queue or executor checks before each call whether this was called. If `remove()` is called on the
    /// listener's own serial queue (or on the main actor), no further call begins. If it is called elsewhere, a call
    /// that has begun runs to its end.
    public func remove() { end() }
}

/// The listeners and observers of a remote config.
final class ObserverHub: Sendable {
    /// A message for listeners of updates.
    enum ListenerMessage: Sendable {
        case update(RemoteConfigUpdate)
        case problem(any Error)
    }

    /// The largest number of messages that wait for a listener.
    private static let mostWaiting = 16
    private static let mostReadsWaiting = 4096

    private struct State {
        var observers: [(number: Int, box: Mailbox<RemoteConfigEvent>)] = []
        var listeners: [(number: Int, box: Mailbox<ListenerMessage>)] = []
        var readers: [(number: Int, box: Mailbox<RemoteConfigLookup>)] = []
        var streams: [Int: AsyncThrowingStream<RemoteConfigUpdate, any Error>.Continuation] = [:]
        /// Keeps the service's update channel open while somebody wants to be told about updates at once.
        var activations: [Int: AsyncStream<Void>.Continuation] = [:]
        var listening: UpdateListening?
        var count = 0
        var isFinished = false

        var wantsUpdates: Bool { !isFinished && !(listeners.isEmpty && streams.isEmpty) }

        mutating func nextNumber() -> Int {
            count += 1
            return count
        }
    }

    private let state = Mutex(State())
    private let hasReaders = Atomic(false)

    /// Whether somebody wants to know which values are read.
    var wantsReads: Bool { hasReaders.load(ordering: .relaxed) }

    func addObserver(
        schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        _ handle: @escaping @Sendable (RemoteConfigEvent) -> Void
    ) -> ConfigUpdateListenerRegistration {
        let box = Mailbox(
            schedule: schedule, add: { $1.append($0, upTo: Self.mostWaiting) }, handle: handle)
        let number = state.withLock { state in
            let number = state.nextNumber()
            state.observers.append((number, box))
            return number
        }
        return ConfigUpdateListenerRegistration { [weak self] in
            box.close()
            self?.state.withLock { $0.observers.removeAll { $0.number == number } }
        }
    }

    func addReader(
        schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        _ handle: @escaping @Sendable (RemoteConfigLookup) -> Void
    ) -> ConfigUpdateListenerRegistration {
        let box = Mailbox<RemoteConfigLookup>(
            schedule: schedule, add: { $1.append($0, dropping: Self.mostReadsWaiting) }, handle: handle)
        let number = state.withLock { state in
            let number = state.nextNumber()
            state.readers.append((number, box))
            hasReaders.store(true, ordering: .relaxed)
            return number
        }
        return ConfigUpdateListenerRegistration { [weak self] in
            box.close()
            self?.state.withLock { state in
                state.readers.removeAll { $0.number == number }
                self?.hasReaders.store(!state.readers.isEmpty, ordering: .relaxed)
            }
        }
    }

    /// Adds a listener.
    ///
    /// - Parameter listen: makes the object that keeps the update channel open.
    func addListener(
        listen: () -> UpdateListening, schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        _ handle: @escaping @Sendable (ListenerMessage) -> Void
    ) -> ConfigUpdateListenerRegistration {
        // An update has all keys that wait for activation, so the newest ones are enough.
        let box = Mailbox<ListenerMessage>(
            schedule: schedule, add: { $1.append($0, dropping: Self.mostWaiting) }, handle: handle)
        let number = state.withLock { state in
            let number = state.nextNumber()
            state.listeners.append((number, box))
            return number
        }
        beginListening(listen)
        return ConfigUpdateListenerRegistration { [weak self] in
            box.close()
            self?.state.withLock { $0.listeners.removeAll { $0.number == number } }
            self?.endListening()
        }
    }

    private func beginListening(_ listen: () -> UpdateListening) {
        guard state.withLock({ $0.wantsUpdates && $0.listening == nil }) else { return }
        let new = listen()
        state.withLock { if $0.wantsUpdates, $0.listening == nil { $0.listening = new } }
    }

    private func endListening() {
        // It is released outside the lock.
        let ended = state.withLock { state -> UpdateListening? in
            guard !state.wantsUpdates else { return nil }
            defer { state.listening = nil }
            return state.listening
        }
        withExtendedLifetime(ended) {}
    }

    /// Makes a stream of updates.
    ///
    /// - Parameter listen: makes the object that keeps the update channel open.
    func updates(listen: () -> UpdateListening) -> AsyncThrowingStream<RemoteConfigUpdate, any Error> {
        // Each update has all keys that wait for activation, so the newest unread ones are enough.
        let (stream, continuation) = AsyncThrowingStream<RemoteConfigUpdate, any Error>.makeStream(
            bufferingPolicy: .bufferingNewest(Self.mostWaiting))
        let number = state.withLock { state -> Int? in
            guard !state.isFinished else { return nil }
            let number = state.nextNumber()
            state.streams[number] = continuation
            return number
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

    /// Tells observers.
    func send(_ event: RemoteConfigEvent) {
        let (observers, activations) = state.withLock { ($0.observers, $0.activations.values) }
        for observer in observers { observer.box.send(event) }
        if case .activated = event { for stream in activations { stream.yield() } }
    }

    func send(_ read: RemoteConfigLookup) {
        let readers = state.withLock { $0.readers }
        for reader in readers { reader.box.send(read) }
    }

    /// Tells listeners and streams.
    func send(_ update: RemoteConfigUpdate) {
        let (listeners, streams) = state.withLock { ($0.listeners, $0.streams.values) }
        for listener in listeners { listener.box.send(.update(update)) }
        for stream in streams { stream.yield(update) }
    }

    /// Tells listeners, and ends the streams with the error.
    func send(problem: any Error) {
        let (listeners, streams) = state.withLock { state in
            defer { state.streams = [:] }
            return (state.listeners, state.streams.values)
        }
        for listener in listeners { listener.box.send(.problem(problem)) }
        for stream in streams { stream.finish(throwing: problem) }
    }

    func finish() {
        let streams = state.withLock { state in
            defer { state.streams = [:] }
            state.isFinished = true
            return state.streams.values
        }
        for stream in streams { stream.finish() }
        finishActivations()
        endListening()
    }

    deinit { finishActivations() }

    private func finishActivations() {
        let activations = state.withLock { state in
            defer { state.activations = [:] }
            return state.activations.values
        }
        for stream in activations { stream.finish() }
    }

    /// An element for each activation from now on. Several unread ones become one element.
    func activations() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state -> Int? in
            guard !state.isFinished else { return nil }
            let number = state.nextNumber()
            state.activations[number] = continuation
            return number
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.activations.removeValue(forKey: number) }
        }
        return stream
    }
}

extension Array {
    /// Adds an element, and keeps only this many of the newest ones.
    fileprivate mutating func append(_ element: Element, dropping most: Int) {
        append(element)
        if count > most { removeFirst() }
    }
}

extension [RemoteConfigEvent] {
    /// Adds an event, and keeps at most this many.
    ///
    /// Older fetches are dropped first. Activations are merged, so that no changed key is lost.
    fileprivate mutating func append(_ event: RemoteConfigEvent, upTo most: Int) {
        append(event)
        guard count > most else { return }
        func isActivation(_ event: RemoteConfigEvent) -> Bool { if case .activated = event { true } else { false } }
        if let oldest = dropLast().firstIndex(where: { !isActivation($0) }) {
            remove(at: oldest)
        } else if case .activated(let older) = self[0], case .activated(let newer) = self[1] {
            replaceSubrange(0...1, with: [.activated(updatedKeys: older.union(newer))])
        }
    }
}
