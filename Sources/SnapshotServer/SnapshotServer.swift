import HummingbirdCore
import HummingbirdTLS
import Logging
import NIOCore
import NIOPosix
import NIOSSL
import RemoteSettingsModel
import ServiceLifecycle
import SnapshotOrigin
import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A read-only origin over snapshot bundles: the Remote Settings API on a socket.
///
/// It answers from one state at a time, which ``StateBox`` holds; nothing is ever written.
public struct SnapshotServer: Sendable {
    /// How to listen.
    public struct Configuration: Sendable {
        public var host: String
        /// 0 for one that is free.
        public var port: Int
        /// PEM files of the certificate chain and its key; `nil` for plain HTTP.
        public var tls: (certificate: String, key: String)?
        /// Whether every answer is reported.
        public var logsRequests = false

        public init(host: String, port: Int) {
            self.host = host
            self.port = port
        }
    }

    private let configuration: Configuration
    private let limits: ServerLimits
    private let pages: (any PageSource)?
    private let now: @Sendable () -> Timestamp
    private let logger: Logger

    /// - Parameters:
    ///   - pages: answers the paths that are not the API's.
    ///   - now: the time of day, for `Date` and for what the monitor answers.
    ///   - logger: gets what was refused, once for each connection, and answers where that is asked for.
    public init(
        _ configuration: Configuration, limits: ServerLimits, pages: (any PageSource)? = nil,
        now: @escaping @Sendable () -> Timestamp, logger: Logger
    ) {
        self.configuration = configuration
        self.limits = limits
        self.pages = pages
        self.now = now
        self.logger = logger
    }

    /// Serves until `SIGTERM` or `SIGINT`, or until the task is cancelled; then lets answers that are being written go on
    /// for ``ServerLimits/shutdownSeconds``.
    ///
    /// - Parameters:
    ///   - state: what to serve. Replacing it takes effect with the next request.
    ///   - services: what runs beside, such as what watches the directory.
    ///   - whenListening: called with the port before the first request is answered.
    /// - Throws: ``ServerError`` where the address cannot be listened on or the certificate not be read; what `whenListening`
    ///   throws.
    public func run(
        _ state: StateBox, metrics: Metrics, services: [any Service] = [],
        whenListening: @escaping @Sendable (Int) async throws -> Void
    ) async throws {
        let logger = logger
        let responder = Responder(
            state: state, metrics: metrics, pages: pages, limits: limits, kept: KeptBytes(limits.keptBytes), now: now,
            logsRequests: configuration.logsRequests, report: { logger.info("\($0)") })
        let failure = FirstFailure()
        var group = ServiceGroupConfiguration(
            services: (services + [
                try server(responder) { channel in
                    do {
                        try await whenListening(channel.localAddress?.port ?? 0)
                    } catch {
                        failure.set(error)
                        try? await channel.close()
                    }
                }
            ]).map {
                .init(service: $0, successTerminationBehavior: .gracefullyShutdownGroup)
            },
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: Logger(label: "services") { _ in SwiftLogNoOpLogHandler() })
        group.maximumGracefulShutdownDuration = .seconds(limits.shutdownSeconds)
        do {
            try await ServiceGroup(configuration: group).run()
        } catch let error as IOError {
            switch error.errnoCode {
            case EADDRINUSE: throw problem(.inUse)
            case EADDRNOTAVAIL: throw problem(.notOfThisMachine)
            case EACCES, EPERM: throw problem(.notAllowed)
            default: throw problem(.other("\(error)"))
            }
        } catch is SocketAddressError {
            throw problem(.notOfThisMachine)
        } catch is SocketAddressError.UnknownHost {
            throw problem(.notOfThisMachine)
        }
        if let error = failure.error { throw error }
    }

    private func problem(_ problem: ServerError.Problem) -> ServerError {
        .address(configuration.host, port: configuration.port, problem: problem)
    }

    private func server(
        _ responder: Responder, _ onServerRunning: @escaping @Sendable (any Channel) async -> Void
    ) throws -> any Service {
        let listening = ServerConfiguration(
            address: .hostname(configuration.host, port: configuration.port), backlog: 1024,
            availableConnectionsDelegate: MaximumAvailableConnections(limits.connections))
        let quiet = Logger(label: "server") { _ in SwiftLogNoOpLogHandler() }
        let setup = ConnectionSetup(responder: responder, logger: logger)
        guard let tls = configuration.tls else {
            return setup.server(
                configuration: listening, onServerRunning: onServerRunning,
                eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: quiet)
        }
        guard let chain = try? NIOSSLCertificate.fromPEMFile(tls.certificate), !chain.isEmpty else {
            throw ServerError.certificate(tls.certificate)
        }
        guard let key = try? NIOSSLPrivateKey(file: tls.key, format: .pem) else { throw ServerError.key(tls.key) }
        var tlsConfiguration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        tlsConfiguration.minimumTLSVersion = .tlsv12
        tlsConfiguration.applicationProtocols = ["http/1.1"]
        guard let channel = try? TLSChannel(setup, tlsConfiguration: tlsConfiguration) else {
            throw ServerError.keyOfAnotherCertificate(certificate: tls.certificate, key: tls.key)
        }
        return channel.server(
            configuration: listening, onServerRunning: onServerRunning,
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: quiet)
    }
}

/// Why what a server begins with has failed.
private final class FirstFailure: Sendable {
    private let stored = Mutex<(any Error)?>(nil)

    var error: (any Error)? { stored.withLock { $0 } }

    func set(_ error: any Error) { stored.withLock { $0 = $0 ?? error } }
}
