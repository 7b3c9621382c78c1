import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import RemoteSettingsModel

/// Hummingbird's channel for HTTP/1.1, with this server's guards around its decoder.
///
/// Hummingbird handles a connection from its first ordinary request onward. A connection whose first request is for
/// updates never reaches Hummingbird, because thousands of waiting connections would use too much memory there.
struct GuardedChannel: ServerChildChannel {
    struct Value: ServerChildChannelValue {
        let http: HTTP1Channel.Value
        /// Whether Hummingbird handles the connection; completed after the first request.
        let isForHTTP: EventLoopFuture<Bool>

        var channel: any Channel { http.channel }
    }

    let base: HTTP1Channel
    let limits: ServerLimits
    let makeGuard: @Sendable (RequestSizeLimit, EventLoopPromise<Bool>) -> RequestGuard

    /// Creates the channel.
    ///
    /// - Parameter makeGuard: called once per connection. The guard completes the promise: `true` if Hummingbird
    ///   handles the connection.
    init(
        _ responder: @escaping HTTPChannelHandler.Responder, _ limits: ServerLimits,
        makeGuard: @escaping @Sendable (RequestSizeLimit, EventLoopPromise<Bool>) -> RequestGuard
    ) {
        var configuration = HTTP1Channel.Configuration()
        configuration.httpDecoder = .init(
            maxHeaderFieldSize: limits.headerFieldBytes, maxHeaderListSize: limits.headerBytes,
            maxHeaderFieldCount: limits.headerFields)
        base = HTTP1Channel(responder: responder, configuration: configuration)
        self.limits = limits
        self.makeGuard = makeGuard
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        base.setup(channel: channel, logger: logger).flatMapThrowing { http in
            let pipeline = channel.pipeline.syncOperations
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            let size = RequestSizeLimit(bytes: limits.requestBytes)
            try pipeline.addHandler(size, position: .before(decoder))
            let isForHTTP = channel.eventLoop.makePromise(of: Bool.self)
            try pipeline.addHandler(makeGuard(size, isForHTTP), position: .after(decoder))
            // NIO decodes all received bytes at once, and keeps the last read buffer. Small reads keep the buffer
            // small, and limit the number of requests that are queued in memory.
            let options = channel.syncOptions
            let bytes = AdaptiveRecvByteBufferAllocator(minimum: 1024, initial: 1024, maximum: 1024)
            try options?.setOption(.recvAllocator, value: bytes)
            try options?.setOption(.maxMessagesPerRead, value: 1)
            // Prevents a client that reads nothing from filling the memory of this process or of the kernel: a write
            // waits until this process has passed all earlier bytes to the kernel, and the kernel accepts few bytes
            // until it has sent those that it already has.
            try options?.setOption(.writeBufferWaterMark, value: .init(low: 1, high: UntakenBytes.uncounted - 1))
            let unsent = ChannelOptions.Types.SocketOption(level: .tcp, name: .init(rawValue: TCP_NOTSENT_LOWAT))
            try options?.setOption(unsent, value: .init(clamping: limits.pieceBytes))
            return Value(http: http, isForHTTP: isForHTTP.futureResult)
        }
    }

    func handle(value: Value, logger: Logger) async {
        let channel = value.channel
        let isForHTTP = await withTaskCancellationHandler {
            try? await value.isForHTTP.get()
        } onCancel: {
            channel.close(promise: nil)
        }
        guard isForHTTP != false else { return }
        guard #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) else {
            return await base.handle(value: value.http, logger: logger)
        }
        await withTaskExecutorPreference(LoopExecutor(channel.eventLoop)) {
            await base.handle(value: value.http, logger: logger)
        }
    }
}
