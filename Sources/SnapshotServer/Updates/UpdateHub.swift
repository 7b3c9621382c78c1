import NIOCore
import RemoteSettingsModel
import SnapshotOrigin
import Locks
import UpdateEvents

/// A connection that is told of updates. Its members are used on its event loop only.
package protocol UpdateSubscriber: AnyObject {
    /// Sends an announcement, or remembers that the client is behind.
    func announce(_ announcement: Announcement)
    /// Called every ``ServerLimits/updateHeartbeatSeconds``.
    func beat()
}

/// The protocol by which a client is told of updates. It is also a label of the metrics.
package enum UpdateProtocol: String, CaseIterable, Sendable {
    case eventStream = "event-stream"
    case push
}

/// All connections that wait for updates, and what they are told.
///
/// An announcement costs one message to each event loop. The loop then tells its connections in batches, so that
/// requests are answered in between.
package final class UpdateHub: Sendable {
    /// The right to one connection that waits for updates. ``UpdateHub/leave(_:)`` gives it back.
    package struct Place: Sendable {
        fileprivate let network: UInt64
        let kind: UpdateProtocol
    }

    private struct State {
        var present: Announcement?
        var number = 0
        var open = 0
        var openByNetwork: [UInt64: Int] = [:]
        var loops: [ObjectIdentifier: NIOLoopBound<LoopSubscribers>] = [:]
        /// How many connections there were when the server was asked to end.
        var openAtEnd: Int?
    }

    package let metrics: Metrics
    let limits: ServerLimits
    private let state = Mutex(State())

    package init(_ limits: ServerLimits, metrics: Metrics) {
        self.limits = limits
        self.metrics = metrics
    }

    /// What newcomers are told; `nil` until the first state is served.
    package var present: Announcement? { state.withLock { $0.present } }

    /// Announces the new state to all connections, if it differs from what was served before.
    func announce(from old: Origin?, to new: Origin) {
        announce { Announcement(number: $0, from: old, to: new) }
    }

    /// - Parameter make: makes the announcement with this number; returns `nil` if there is nothing to announce.
    package func announce(_ make: (_ number: Int) -> Announcement?) {
        let (announcement, loops) = state.withLock { state -> (Announcement?, [NIOLoopBound<LoopSubscribers>]) in
            guard let announcement = make(state.number + 1) else { return (nil, []) }
            state.number += 1
            state.present = announcement
            return (announcement, Array(state.loops.values))
        }
        guard let announcement else { return }
        metrics.announced()
        for loop in loops { loop.eventLoop.execute { loop.value.announce(announcement) } }
    }

    /// - Parameter network: the client's network, as ``ConnectionTable/network(_:)`` returns it.
    /// - Returns: `nil` if there are too many connections already, from this network or in all.
    package func enter(_ kind: UpdateProtocol, network: UInt64) -> Place? {
        let isAdmitted = state.withLock { state in
            let count = state.openByNetwork[network, default: 0]
            guard state.open < limits.updateStreams, count < limits.updateStreamsPerAddress else { return false }
            state.open += 1
            state.openByNetwork[network] = count + 1
            return true
        }
        guard isAdmitted else { return nil }
        metrics.streamOpened(kind)
        return Place(network: network, kind: kind)
    }

    package func leave(_ place: Place) {
        state.withLock { state in
            state.open -= 1
            let left = state.openByNetwork[place.network, default: 1] - 1
            state.openByNetwork[place.network] = left > 0 ? left : nil
        }
        metrics.streamClosed(place.kind)
    }

    /// Waits until no connection waits for updates, or until the time is over.
    func allHaveLeft(within duration: Duration) async {
        let end = ContinuousClock.now + duration
        while state.withLock({ $0.open }) > 0, ContinuousClock.now < end {
            try? await Task.sleep(for: .milliseconds(20))
        }
    }

    /// The subscribers of an event loop. Called on this loop.
    package func subscribers(on eventLoop: any EventLoop) -> LoopSubscribers {
        let loop = state.withLock { state in
            if let known = state.loops[ObjectIdentifier(eventLoop)] { return known }
            let made = NIOLoopBound(
                LoopSubscribers(eventLoop, heartbeatSeconds: limits.updateHeartbeatSeconds), eventLoop: eventLoop)
            state.loops[ObjectIdentifier(eventLoop)] = made
            return made
        }
        return loop.value
    }

    /// The seconds after which a client may come back to a server that is ending.
    ///
    /// Each client gets another number, so that they do not come all at once. No number is so small that the server is
    /// still starting.
    package func secondsUntilReturn() -> Int {
        let open = state.withLock { state in
            let open = state.openAtEnd ?? state.open
            state.openAtEnd = open
            return open
        }
        let first = ServerLimits.firstReturnSeconds
        return Int.random(in: first..<first + limits.updateReturnSeconds(connections: open))
    }

    /// How long a push connection goes on after the server was asked to end.
    ///
    /// Its client cannot be told when to come back. The time is at most half of what the server has for its shutdown.
    func delayUntilEnd() -> TimeAmount {
        let open = state.withLock { state in
            let open = state.openAtEnd ?? state.open
            state.openAtEnd = open
            return open
        }
        // `open` is limited by the number of connections, so the product cannot overflow.
        let spread = open * 1000 / max(1, limits.updateReturnsPerSecond)
        return .milliseconds(Int64.random(in: 0...Int64(max(0, min(spread, limits.shutdownSeconds * 500)))))
    }

    /// The seconds after which a client may come back to a server that has too many connections.
    func secondsUntilRetry() -> Int { Int.random(in: 60...120) }
}

extension ServerLimits {
    /// The fewest seconds that a client stays away.
    package static let firstReturnSeconds = 3

    /// The seconds over which this many clients are spread when they have to come back. They count from
    /// ``firstReturnSeconds`` on.
    package func updateReturnSeconds(connections: Int) -> Int {
        min(max(5, connections / max(1, updateReturnsPerSecond)), 600)
    }
}

/// One connection's share in the hub: its place, and its entry among those that are told. Used on its event loop only.
struct UpdateSubscription {
    private let hub: UpdateHub
    private var place: UpdateHub.Place?
    private var subscribers: LoopSubscribers?
    private var slot = 0

    /// - Parameter place: `nil` if none was left.
    init(_ hub: UpdateHub, _ place: UpdateHub.Place?) {
        self.hub = hub
        self.place = place
    }

    var hasPlace: Bool { place != nil }

    /// Lets `subscriber` be told from now on.
    mutating func begin(_ subscriber: any UpdateSubscriber, on eventLoop: any EventLoop) {
        let subscribers = hub.subscribers(on: eventLoop)
        slot = subscribers.add(subscriber)
        self.subscribers = subscribers
    }

    /// Tells `subscriber` nothing more. The connection keeps its place until it is closed.
    mutating func end(_ subscriber: any UpdateSubscriber) {
        subscribers?.remove(subscriber, from: slot)
        subscribers = nil
    }

    /// Gives the place back, because the connection is closed.
    ///
    /// - Parameter isShed: whether the client took nothing of what it was sent.
    mutating func close(_ subscriber: any UpdateSubscriber, isShed: Bool = false) {
        end(subscriber)
        guard let place else { return }
        if isShed { hub.metrics.streamShed(place.kind) }
        hub.leave(place)
        self.place = nil
    }
}

/// The connections of one event loop that wait for updates. Used on this loop only.
package final class LoopSubscribers {
    /// How many connections are told before other work of the event loop has its turn.
    private static let batch = 128

    private let eventLoop: any EventLoop
    /// The connections, by the second of the heartbeat's period in which they came. So heartbeats are spread over the
    /// period.
    private var slots: [[ObjectIdentifier: any UpdateSubscriber]]
    private var count = 0
    private var second = 0
    private var clock: Scheduled<Void>?
    /// The connections that have not been told of ``announcing`` yet.
    private var untold: [any UpdateSubscriber] = []
    private var announcing: Announcement?
    /// The newest announcement that came while others were being told. Those between are left out.
    private var next: Announcement?

    fileprivate init(_ eventLoop: any EventLoop, heartbeatSeconds: Int) {
        self.eventLoop = eventLoop
        slots = Array(repeating: [:], count: max(1, heartbeatSeconds))
    }

    /// - Returns: the slot that ``remove(_:from:)`` needs.
    package func add(_ subscriber: any UpdateSubscriber) -> Int {
        slots[second][ObjectIdentifier(subscriber)] = subscriber
        count += 1
        if clock == nil { startClock() }
        return second
    }

    package func remove(_ subscriber: any UpdateSubscriber, from slot: Int) {
        guard slots[slot].removeValue(forKey: ObjectIdentifier(subscriber)) != nil else { return }
        count -= 1
        guard count == 0 else { return }
        clock?.cancel()
        clock = nil
    }

    fileprivate func announce(_ announcement: Announcement) {
        if announcing != nil {
            next = announcement
        } else {
            begin(announcement)
        }
    }

    private func begin(_ announcement: Announcement) {
        announcing = announcement
        untold = slots.flatMap(\.values)
        tellBatch()
    }

    private func tellBatch() {
        guard let announcement = announcing else { return }
        for _ in 0..<Self.batch {
            guard let subscriber = untold.popLast() else { break }
            subscriber.announce(announcement)
        }
        if untold.isEmpty {
            untold = []
            announcing = nil
            guard let next else { return }
            self.next = nil
            begin(next)
        } else {
            // There is a pause, because a loop runs all tasks that are due before it looks at its connections again.
            eventLoop.assumeIsolated().scheduleTask(in: .microseconds(200)) { self.tellBatch() }
        }
    }

    private func startClock() {
        clock = eventLoop.assumeIsolated().scheduleTask(in: .seconds(1)) { [weak self] in self?.secondHasPassed() }
    }

    private func secondHasPassed() {
        startClock()
        second = (second + 1) % slots.count
        for subscriber in slots[second].values { subscriber.beat() }
    }
}
