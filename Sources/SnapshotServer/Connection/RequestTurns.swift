import NIOCore
import Locks

/// Lets connections that ask for much at once take turns, so that all others come in between.
///
/// An event loop runs every task that is due before it looks at its connections again, and a request that has been read is such a
/// task. So a few hundred clients that send thousands of requests ahead would keep all others waiting until the last of these is
/// answered.
final class RequestTurns: Sendable {
    /// The requests of one connection that are answered in one turn.
    static let requests = 4

    private let loops = Mutex<[ObjectIdentifier: NIOLoopBound<LoopTurns>]>([:])

    /// Those of an event loop. Called on this loop.
    func of(_ eventLoop: any EventLoop) -> LoopTurns {
        let loop = loops.withLock { loops in
            if let known = loops[ObjectIdentifier(eventLoop)] { return known }
            let made = NIOLoopBound(LoopTurns(eventLoop), eventLoop: eventLoop)
            loops[ObjectIdentifier(eventLoop)] = made
            return made
        }
        return loop.value
    }
}

/// The connections of one event loop that wait for their next turn. Used on this loop only.
final class LoopTurns {
    /// How many connections have a turn before the loop looks at all of its connections.
    private static let batch = 16
    /// An answer that takes longer than this is not waited for.
    private static let patience = TimeAmount.seconds(1)

    private let eventLoop: any EventLoop
    private var waiting: CircularBuffer<(_ turn: Int) -> Void> = []
    /// The turns of a batch have a number together.
    private var turn = 0
    /// The connections of the present batch whose turn is not over.
    private var left = 0
    private var next: Scheduled<Void>?

    fileprivate init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    /// - Parameter begin: is called with what ``end(_:)`` needs when those that wait already have had their turn.
    func wait(_ begin: @escaping (_ turn: Int) -> Void) {
        waiting.append(begin)
        if next == nil { schedule(in: Self.pause) }
    }

    /// A connection's turn is over: it has used it up, or has nothing to be answered.
    func end(_ turn: Int) {
        guard turn == self.turn else { return }
        left -= 1
        guard left == 0 else { return }
        next?.cancel()
        next = nil
        // Only now: a task whose time comes while the answers of a batch are made would be run before the loop has looked at its
        // connections.
        if !waiting.isEmpty { schedule(in: Self.pause) }
    }

    private static let pause = TimeAmount.microseconds(100)

    private func schedule(in time: TimeAmount) {
        next = eventLoop.assumeIsolated().scheduleTask(in: time) { self.giveTurns() }
    }

    private func giveTurns() {
        turn += 1
        let batch = waiting.prefix(Self.batch)
        left = batch.count
        waiting.removeFirst(left)
        next = nil
        if left > 0 { schedule(in: Self.patience) }
        for begin in batch { begin(turn) }
    }
}
