import NIOCore
import NIOPosix
import NIOSSL

/// Speaks TLS for a server on loopback, at a port of its own, until the process ends.
struct TLSProxy {
    /// The port of the proxy.
    let port: Int

    /// - Parameters:
    ///   - serverPort: of the server.
    ///   - pem: the server's certificates and its key.
    init(to serverPort: Int, pem: String) async throws {
        let certificates = try NIOSSLCertificate.fromPEMBytes(Array(pem.utf8))
            .map { NIOSSLCertificateSource.certificate($0) }
        let key = try NIOSSLPrivateKey(bytes: Array(pem.utf8), format: .pem)
        let context = try NIOSSLContext(
            configuration: .makeServerConfiguration(certificateChain: certificates, privateKey: .privateKey(key)))
        let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                ClientBootstrap(group: channel.eventLoop).connect(host: "127.0.0.1", port: serverPort).flatMapThrowing {
                    plain in
                    try channel.pipeline.syncOperations.addHandlers([
                        NIOSSLServerHandler(context: context), ForwardingHandler(to: plain),
                    ])
                    try plain.pipeline.syncOperations.addHandler(ForwardingHandler(to: channel))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        port = listener.localAddress?.port ?? 0
    }
}

/// Writes what one connection receives to another, and closes the other one with it. Both are on one event loop.
private final class ForwardingHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let other: any Channel

    init(to other: any Channel) { self.other = other }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        other.writeAndFlush(unwrapInboundIn(data), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        other.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
