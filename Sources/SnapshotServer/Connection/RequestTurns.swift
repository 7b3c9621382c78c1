import LibC
import Locks
import NIOCore
import NIOPosix

/// Lets connections that ask for much at once take turns, so that all others come in between.
///
/// An event loop runs every task that is due before it looks at its connections again, and a request that has been read is
/// such a task. So a few hundred clients that send thousands of requests ahead would keep all others waiting until the last
/// of these is answered.
final class RequestTurns: Sendable {
    /// Calls a function, on the event loop, when the loop has looked at its connections.
    typealias AfterLook = (_ then: @escaping () -> Void) -> Void

    /// The requests of one connection that are answered in one turn.
    static let requests = 4

    private let loops = Mutex<[ObjectIdentifier: NIOLoopBound<LoopTurns>]>([:])
    private let makeAfterLook: @Sendable (any EventLoop) -> AfterLook

    /// - Parameter makeAfterLook: called once for each event loop.
    init(_ makeAfterLook: @escaping @Sendable (any EventLoop) -> AfterLook = { LookPipe($0).after }) {
        self.makeAfterLook = makeAfterLook
    }

    /// Those of an event loop. Called on this loop.
    func of(_ eventLoop: any EventLoop) -> LoopTurns {
        let loop = loops.withLock { loops in
            if let known = loops[ObjectIdentifier(eventLoop)] { return known }
            let made = NIOLoopBound(LoopTurns(eventLoop, makeAfterLook(eventLoop)), eventLoop: eventLoop)
            loops[ObjectIdentifier(eventLoop)] = made
            return made
        }
        return loop.value
    }
}

/// The connections of one event loop that wait for their next turn. Used on this loop only.
final class LoopTurns {
    /// How many connections have a turn before the loop looks at all of its connections.
    static let batch = 8
    /// An answer that takes longer than this is not waited for.
    private static let patience = TimeAmount.seconds(1)

    private let eventLoop: any EventLoop
    private let afterLook: RequestTurns.AfterLook
    private var waiting: CircularBuffer<(_ turn: Int) -> Void> = []
    /// The turns of a batch have a number together.
    private var turn = 0
    /// The connections of the present batch whose turn is not over.
    private var left = 0
    private var isAwaitingLook = false
    private var impatience: Scheduled<Void>?

    fileprivate init(_ eventLoop: any EventLoop, _ afterLook: @escaping RequestTurns.AfterLook) {
        self.eventLoop = eventLoop
        self.afterLook = afterLook
    }

    /// - Parameter begin: is called with what ``end(_:)`` needs when those that wait already have had their turn.
    func wait(_ begin: @escaping (_ turn: Int) -> Void) {
        waiting.append(begin)
        if left == 0 { giveTurnsAfterLook() }
    }

    /// A connection's turn is over: it has used it up, or has nothing to be answered.
    func end(_ turn: Int) {
        guard turn == self.turn else { return }
        left -= 1
        if left == 0 { giveTurnsAfterLook() }
    }

    private func giveTurnsAfterLook() {
        impatience?.cancel()
        guard !isAwaitingLook, !waiting.isEmpty else { return }
        isAwaitingLook = true
        afterLook { [self] in
            isAwaitingLook = false
            giveTurns()
        }
    }

    private func giveTurns() {
        turn += 1
        let batch = waiting.prefix(Self.batch)
        left = batch.count
        waiting.removeFirst(left)
        impatience = eventLoop.assumeIsolated().scheduleTask(in: Self.patience) { [self] in
            left = 0
            giveTurnsAfterLook()
        }
        for begin in batch { begin(turn) }
    }
}

/// Tells when an event loop has looked at its connections: when a byte has come back through a pipe.
///
/// A timer does not tell it. One whose time comes while the loop has other tasks to do is run with them.
private final class LookPipe {
    private final class Reader: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        weak var pipe: LookPipe?

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { pipe?.come() }
    }

    private let eventLoop: any EventLoop
    private var channel: (any Channel)?
    private var then: (() -> Void)?

    init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
        let reader = Reader()
        reader.pipe = self
        var ends: [CInt] = [-1, -1]
        guard unsafe LibC.pipe(&ends) == 0 else { return }
        let handler = NIOLoopBound(reader, eventLoop: eventLoop)
        NIOPipeBootstrap(group: eventLoop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(handler.value)
                }
            }
            .takingOwnershipOfDescriptors(input: ends[0], output: ends[1])
            .assumeIsolated().whenSuccess { [weak self] channel in
                if let self { self.channel = channel } else { channel.close(promise: nil) }
            }
    }

    deinit { channel?.close(promise: nil) }

    func after(_ then: @escaping () -> Void) {
        self.then = then
        if let channel {
            channel.writeAndFlush(ByteBuffer(integer: UInt8(0)), promise: nil)
        } else {
            // There is no pipe yet, or the process has too many files open.
            eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(1)) { self.come() }
        }
    }

    private func come() {
        let then = then
        self.then = nil
        then?()
    }
}
