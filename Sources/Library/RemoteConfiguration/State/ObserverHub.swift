import RemoteSettings
import RemoteSettingsModel

/// An event of a ``RemoteConfig``.
@nonexhaustive public enum RemoteConfigEvent: Sendable {
    /// A fetch has succeeded, and an activation would change these keys.
    case fetched(updatedKeys: Set<String>)
    /// A fetch has succeeded, and an activation would change nothing.
    case fetchedWithoutChange
    /// A fetch has failed, or was not allowed.
    case fetchFailed(RemoteConfigError)
    /// An activation has changed the values of these keys. For a slow observer, several activations may be merged.
    case activated(updatedKeys: Set<String>)
}

/// The result of a real-time update or a sync: the keys whose values an activation would change.
public struct RemoteConfigUpdate: Hashable, Sendable {
    /// The keys that were added, removed or changed, compared with the active values.
    public let updatedKeys: Set<String>

    /// Creates an update, for an app's tests.
    public init(updatedKeys: Set<String>) { self.updatedKeys = updatedKeys }
}

/// The registration of a listener or observer. It remains in force until ``remove()``, even if nothing refers to this
/// object.
public final class ConfigUpdateListenerRegistration: Sendable {
    private let end: @Sendable () -> Void

    init(end: @escaping @Sendable () -> Void) { self.end = end }

    /// Removes the listener. This does not block, so it can be called anywhere, even on the main thread or in the
    /// listener.
    ///
    /// The listener's queue or executor checks the registration before each call. If `remove()` is called on the
    /// listener's own serial queue (or on the main actor), no further call begins. If it is called elsewhere, a call
    /// that has already started runs to completion.
    public func remove() { end() }
}

/// The listeners and observers of a remote config.
final class ObserverHub: Sendable {
    /// A message for listeners of updates.
    enum ListenerMessage: Sendable {
        case update(RemoteConfigUpdate)
        case problem(any Error)
    }

    typealias Schedule = @Sendable (@escaping @Sendable () -> Void) -> Void

    /// The maximum number of unread messages of a listener. Each update contains all keys whose changes are not
    /// activated yet, so the newest ones are sufficient.
    private static let mostWaiting = 16
    private static let mostReadsWaiting = 4096

    private let events = Broadcast<RemoteConfigEvent>()
    private let reads = Broadcast<RemoteConfigLookup>()
    private let messages = Broadcast<ListenerMessage>()
    /// Keeps the service's update channel open while there are listeners for updates.
    private let channel = Mutex(Channel())

    private struct Channel {
        weak var open: Subscription?
    }

    /// Whether there are observers of reads.
    var wantsReads: Bool { !reads.isEmpty }

    func addObserver(
        schedule: @escaping Schedule, _ handle: @escaping @Sendable (RemoteConfigEvent) -> Void
    ) -> ConfigUpdateListenerRegistration {
        .init(
            end: events.receive(keeping: { $1.append($0, upTo: Self.mostWaiting) }, schedule: schedule, handle: handle))
    }

    func addReader(
        schedule: @escaping Schedule, _ handle: @escaping @Sendable (RemoteConfigLookup) -> Void
    ) -> ConfigUpdateListenerRegistration {
        .init(end: reads.receive(keeping: Broadcast.newest(Self.mostReadsWaiting), schedule: schedule, handle: handle))
    }

    /// Adds a listener.
    ///
    /// - Parameter listen: a closure that creates the object that keeps the update channel open.
    func addListener(
        listen: () -> Subscription, schedule: @escaping Schedule,
        _ handle: @escaping @Sendable (ListenerMessage) -> Void
    ) -> ConfigUpdateListenerRegistration {
        let channel = openChannel(listen)
        return .init(
            end: messages.receive(keeping: Broadcast.newest(Self.mostWaiting), schedule: schedule) { message in
                withExtendedLifetime(channel) { handle(message) }
            })
    }

    /// Returns a stream of updates, which throws the first problem and finishes.
    ///
    /// - Parameter listen: a closure that creates the object that keeps the update channel open.
    func updates(listen: () -> Subscription) -> AsyncThrowingStream<RemoteConfigUpdate, any Error> {
        let open = Mutex<(AsyncStream<ListenerMessage>, Subscription)?>(
            (messages.stream(keeping: Broadcast.newest(Self.mostWaiting)), openChannel(listen)))
        return AsyncThrowingStream {
            guard let stream = open.withLock({ $0?.0 }) else { return nil }
            for await message in stream {
                switch message {
                case .update(let update): return update
                case .problem(let error):
                    open.withLock { $0 = nil }
                    throw error
                }
            }
            open.withLock { $0 = nil }
            return nil
        }
    }

    private func openChannel(_ listen: () -> Subscription) -> Subscription {
        if let open = channel.withLock({ $0.open }) { return open }
        let new = listen()
        return channel.withLock { channel in
            if let first = channel.open { return first }
            channel.open = new
            return new
        }
    }

    /// Notifies observers.
    func send(_ event: RemoteConfigEvent) { events.send(event) }

    func send(_ read: RemoteConfigLookup) { reads.send(read) }

    /// Notifies listeners and streams.
    func send(_ update: RemoteConfigUpdate) { messages.send(.update(update)) }

    /// Notifies listeners, and finishes the streams with the error.
    func send(problem: any Error) { messages.send(.problem(problem)) }

    /// Finishes all streams, and releases the update channel.
    func finish() {
        events.finish()
        messages.finish(closures: true)
    }

    /// Returns a stream with an element for each activation from now on. Only the newest unread element is kept.
    func activations() -> AsyncStream<RemoteConfigEvent> {
        events.stream(keeping: { event, unread in if case .activated = event { unread = [event] } })
    }
}

extension [RemoteConfigEvent] {
    /// Appends an event, and keeps at most this many.
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
