#if Server
import NIOCore
import NIOPosix
import RemoteSettingsModel

/// Makes connections that ask for much at once, or for something large, take turns, so that others are answered in
/// between.
///
/// An event loop runs every task that is due before it looks at its connections again. A request that has been read is
/// such a task. Without turns, a few hundred clients that each send thousands of requests ahead would keep all others
/// waiting until the last of these is answered.
final class RequestTurns: Sendable {
    /// Calls a function on the event loop after the loop has looked at its connections.
    typealias AfterLook = (_ then: @escaping () -> Void) -> Void

    /// How many requests of one connection are answered in one turn.
    static let requests = 4

    private let loops = Mutex<[ObjectIdentifier: NIOLoopBound<LoopTurns>]>([:])
    private let makeAfterLook: @Sendable (any EventLoop) -> AfterLook

    /// - Parameter makeAfterLook: called once for each event loop.
    init(_ makeAfterLook: @escaping @Sendable (any EventLoop) -> AfterLook = { LookPipe($0).after }) {
        self.makeAfterLook = makeAfterLook
    }

    /// Waits for a turn. It ends at once.
    func next(on eventLoop: any EventLoop) async {
        await withCheckedContinuation { continuation in
            eventLoop.execute { [self] in
                let turns = of(eventLoop)
                turns.wait { turn in
                    turns.end(turn)
                    continuation.resume()
                }
            }
        }
    }

    /// The turns of an event loop. Called on this loop.
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
    /// How many connections have a turn before the loop looks at all its connections again.
    static let batch = 8
    /// The longest wait for an answer. A slower one no longer holds up the next turns.
    private static let patience = TimeAmount.seconds(1)

    private let eventLoop: any EventLoop
    private let afterLook: RequestTurns.AfterLook
    private var waiting: CircularBuffer<(_ turn: Int) -> Void> = []
    /// The number of the present batch. All turns of a batch share it.
    private var turn = 0
    /// The connections of the present batch whose turn is not over.
    private var left = 0
    private var isAwaitingLook = false
    private var impatience: Scheduled<Void>?

    fileprivate init(_ eventLoop: any EventLoop, _ afterLook: @escaping RequestTurns.AfterLook) {
        self.eventLoop = eventLoop
        self.afterLook = afterLook
    }

    /// - Parameter begin: called when the connections that already wait have had their turn, with the number that
    ///   ``end(_:)`` needs.
    func wait(_ begin: @escaping (_ turn: Int) -> Void) {
        waiting.append(begin)
        if left == 0 { giveTurnsAfterLook() }
    }

    /// Ends a connection's turn: the connection has used it up, or has nothing more to be answered.
    func end(_ turn: Int) {
        guard turn == self.turn else { return }
        left -= 1
        if left == 0 { giveTurnsAfterLook() }
    }

    private func giveTurnsAfterLook() {
        impatience?.cancel()
        impatience = nil
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
        for begin in batch { begin(turn) }
        // Most turns are over at once, and cancelling a timer costs more the more there are.
        guard left > 0 else { return }
        impatience = eventLoop.assumeIsolated().scheduleTask(in: Self.patience) { [self] in
            left = 0
            giveTurnsAfterLook()
        }
    }
}

/// Tells when an event loop has looked at its connections: when a byte comes back through a pipe.
///
/// A timer cannot tell that. If it is due while the loop has other tasks, it runs together with them.
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
        guard unsafe RemoteSettingsModel.pipe(&ends) == 0 else { return }
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
            // There is no pipe yet, or this process has too many open files.
            eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(1)) { self.come() }
        }
    }

    private func come() {
        let then = then
        self.then = nil
        then?()
    }
}
#endif
