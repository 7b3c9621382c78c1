import NIOCore
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotOrigin

/// Manages all connections that wait for updates, and notifies them of announcements.
///
/// An announcement is one message to each event loop. The loop then notifies its connections in batches, and handles
/// requests in between.
package final class UpdateHub: Sendable {
    /// A reservation for one connection that waits for updates, released with ``UpdateHub/leave(_:)``.
    package struct Place: Sendable {
        fileprivate let network: UInt64
    }

    private struct State {
        var present: Announcement?
        var number = 0
        var open = 0
        var openByNetwork: [UInt64: Int] = [:]
        var loops: [ObjectIdentifier: NIOLoopBound<LoopStreams>] = [:]
        /// The number of connections when the server was asked to stop; `nil` before that.
        var openAtEnd: Int?
    }

    package let metrics: Metrics
    let limits: ServerLimits
    private let state = Mutex(State())

    package init(_ limits: ServerLimits, metrics: Metrics) {
        self.limits = limits
        self.metrics = metrics
    }

    /// The announcement for new clients; `nil` until the first state is served.
    package var present: Announcement? { state.withLock { $0.present } }

    /// Announces the new state to all connections, if it differs from the previous one.
    func announce(from old: Origin?, to new: Origin) {
        announce { Announcement(number: $0, from: old, to: new) }
    }

    /// Announces a change to all connections.
    ///
    /// - Parameter make: creates the announcement with this number, or returns `nil` if there is nothing to announce.
    package func announce(_ make: (_ number: Int) -> Announcement?) {
        let (announcement, loops) = state.withLock { state -> (Announcement?, [NIOLoopBound<LoopStreams>]) in
            guard let announcement = make(state.number + 1) else { return (nil, []) }
            state.number += 1
            state.present = announcement
            return (announcement, Array(state.loops.values))
        }
        guard let announcement else { return }
        metrics.announced()
        for loop in loops { loop.eventLoop.execute { loop.value.announce(announcement) } }
    }

    /// Reserves a place for a connection that waits for updates.
    ///
    /// - Parameter network: the client's network, as ``ConnectionTable/network(_:)`` returns it.
    /// - Returns: `nil` if there are already too many connections, from this network or in total.
    package func enter(network: UInt64) -> Place? {
        let isAdmitted = state.withLock { state in
            let count = state.openByNetwork[network, default: 0]
            guard state.open < limits.updateStreams, count < limits.updateStreamsPerAddress else { return false }
            state.open += 1
            state.openByNetwork[network] = count + 1
            return true
        }
        guard isAdmitted else { return nil }
        metrics.streamOpened()
        return Place(network: network)
    }

    package func leave(_ place: Place) {
        state.withLock { state in
            state.open -= 1
            let left = state.openByNetwork[place.network, default: 1] - 1
            state.openByNetwork[place.network] = left > 0 ? left : nil
        }
        metrics.streamClosed()
    }

    /// Waits until no connection waits for updates, or until the duration has elapsed.
    func allHaveLeft(within duration: Duration) async {
        let end = ContinuousClock.now + duration
        while state.withLock({ $0.open }) > 0, ContinuousClock.now < end {
            try? await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Returns the streams of an event loop. Must be called on this loop.
    func streams(on eventLoop: any EventLoop) -> LoopStreams {
        let loop = state.withLock { state in
            if let known = state.loops[ObjectIdentifier(eventLoop)] { return known }
            let made = NIOLoopBound(
                LoopStreams(eventLoop, heartbeatSeconds: limits.updateHeartbeatSeconds), eventLoop: eventLoop)
            state.loops[ObjectIdentifier(eventLoop)] = made
            return made
        }
        return loop.value
    }

    /// Returns the delay in seconds before a client may reconnect to a server that is shutting down.
    ///
    /// It is random, so that clients do not all reconnect at the same time, and long enough for the server to restart.
    package func secondsUntilReturn() -> Int {
        let open = state.withLock { state in
            let open = state.openAtEnd ?? state.open
            state.openAtEnd = open
            return open
        }
        let first = ServerLimits.firstReturnSeconds
        return Int.random(in: first..<first + limits.updateReturnSeconds(connections: open))
    }

    /// Returns the delay in seconds before a client may reconnect to a server with too many connections.
    func secondsUntilRetry() -> Int { Int.random(in: 60...120) }
}

extension ServerLimits {
    /// The minimum delay before a client reconnects, in seconds.
    package static let firstReturnSeconds = 3

    /// Returns the period in seconds over which this many clients reconnect, starting at ``firstReturnSeconds``.
    package func updateReturnSeconds(connections: Int) -> Int {
        min(max(5, connections / max(1, updateReturnsPerSecond)), 600)
    }
}

/// The connections of one event loop that wait for updates. Used only on this loop.
final class LoopStreams {
    /// The number of connections to notify before the event loop handles other work.
    private static let batch = 128

    private let eventLoop: any EventLoop
    /// The connections, by the second of the heartbeat period in which they were opened, so that heartbeats are spread
    /// over the period.
    private var slots: [[ObjectIdentifier: EventStreamHandler]]
    private var count = 0
    private var second = 0
    private var clock: Scheduled<Void>?
    /// The connections that have not been notified of ``announcing`` yet.
    private var untold: [EventStreamHandler] = []
    private var announcing: Announcement?
    /// The newest announcement that arrived while an older one was being sent. The ones in between are skipped.
    private var next: Announcement?

    fileprivate init(_ eventLoop: any EventLoop, heartbeatSeconds: Int) {
        self.eventLoop = eventLoop
        slots = Array(repeating: [:], count: max(1, heartbeatSeconds))
    }

    /// Adds a stream.
    ///
    /// - Returns: the slot that ``remove(_:from:)`` needs.
    func add(_ stream: EventStreamHandler) -> Int {
        slots[second][ObjectIdentifier(stream)] = stream
        count += 1
        if clock == nil { startClock() }
        return second
    }

    func remove(_ stream: EventStreamHandler, from slot: Int) {
        guard slots[slot].removeValue(forKey: ObjectIdentifier(stream)) != nil else { return }
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
        announceBatch()
    }

    private func announceBatch() {
        guard let announcement = announcing else { return }
        for _ in 0..<Self.batch {
            guard let stream = untold.popLast() else { break }
            stream.announce(announcement)
        }
        if untold.isEmpty {
            untold = []
            announcing = nil
            guard let next else { return }
            self.next = nil
            begin(next)
        } else {
            // Schedule the next batch with a delay: an event loop runs all due tasks before it handles its connections
            // again.
            eventLoop.assumeIsolated().scheduleTask(in: .microseconds(200)) { self.announceBatch() }
        }
    }

    private func startClock() {
        clock = eventLoop.assumeIsolated().scheduleTask(in: .seconds(1)) { [weak self] in self?.secondHasPassed() }
    }

    private func secondHasPassed() {
        startClock()
        second = (second + 1) % slots.count
        for stream in slots[second].values { stream.beat() }
    }
}
