import CMappedFaults
import Dumps
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import RemoteSettingsModel
import ServiceLifecycle
import SnapshotOrigin

/// A read-only Remote Settings server for a dumps directory, with the API and a web UI. It writes no files.
package struct OriginServer: Sendable {
    package struct Configuration: Sendable {
        package var host: String
        /// The port to listen on; 0 for any free port.
        package var port: Int
        /// The address at which clients reach the server; `nil` if it is `http://HOST:PORT`.
        package var publicAddress: OriginAddress?
        /// The places with older states; `nil` to offer no deltas from older states.
        package var history: BundleHistory?
        /// Whether the server reloads the directory when it changes.
        package var isWatching = false
        /// Whether to log every response.
        package var logsRequests = false
        /// The version in the root document and in `__version__`.
        package var softwareVersion = ""

        package init(host: String, port: Int) {
            self.host = host
            self.port = port
        }
    }

    private let directory: DumpsDirectory
    private let configuration: Configuration
    private let limits: ServerLimits
    private let now: @Sendable () -> Timestamp
    private let logger: Logger

    /// Creates a server. Does no I/O except to read and raise this process's limit of open files.
    ///
    /// - Parameters:
    ///   - now: returns the current time, for the monitor's responses and for the ages in the web UI.
    ///   - logger: receives one message for each connection that is refused, and one for each response if
    ///     `logsRequests` is set.
    package init(
        _ directory: DumpsDirectory, _ configuration: Configuration, limits: ServerLimits = ServerLimits(),
        now: @escaping @Sendable () -> Timestamp, logger: Logger
    ) {
        self.directory = directory
        self.configuration = configuration
        var limits = limits
        // Reserve the remaining file descriptors for bundles and the system.
        limits.connections = min(limits.connections, max(64, Self.openFiles() - 512))
        limits.connectionsPerAddress = min(limits.connectionsPerAddress, limits.connections / 4 * 3)
        limits.updateStreams = min(limits.updateStreams, limits.connections / 4 * 3)
        self.limits = limits
        self.now = now
        self.logger = logger
    }

    /// Runs the server until `SIGTERM` or `SIGINT`, or until the task is cancelled.
    ///
    /// Responses that are being written then have ``ServerLimits/shutdownSeconds`` to finish. Until the bundles have
    /// been read and verified, every response has status 503.
    ///
    /// - Parameters:
    ///   - publish: publishes a change to the directory, for `POST /demo/publish`. If it is `nil`, the response to that
    ///     request has status 405.
    ///   - whenReady: called with the first state as soon as it is served.
    /// - Throws: `Failure` if there is no lock file and the server does not watch for one, or if the server cannot
    ///   listen on the address; `Failure` if the lock file cannot be read.
    package func run(
        publish: (@Sendable (_ now: Timestamp) async throws -> [String])? = nil,
        whenReady: @escaping @Sendable (ServedState) -> Void
    ) async throws {
        guard configuration.isWatching || directory.hasLock else { throw Failure.nothingLocked(directory.lockPath) }
        let logger = logger
        if mapped_faults_survive() != 0 {
            logger.warning("the server will crash if a bundle is truncated while it is served")
        }
        let loader = DumpsLoader(
            directory, history: configuration.history, softwareVersion: configuration.softwareVersion, limits: limits,
            report: { logger.warning("\($0)") })
        let metrics = Metrics()
        let updates = UpdateHub(limits, metrics: metrics)
        let state = StateBox(announcingTo: updates)
        let (ports, port) = AsyncStream<Int>.makeStream()
        let loading = LoadingService(
            directory: directory, loader: loader, state: state, metrics: metrics, ports: ports, address: address,
            interval: .milliseconds(limits.watchMilliseconds), isWatching: configuration.isWatching,
            logger: logger, whenReady: whenReady)
        let responder = Responder(
            state: state, metrics: metrics, pages: ServedPages(directory: directory),
            demo: publish.map { DemoControl(loader: loader, state: state, publish: $0) }, limits: limits,
            untaken: UntakenBytes(limit: limits.untakenBytes), now: now,
            logsRequests: configuration.logsRequests, report: { logger.info("\($0)") })
        let application = Application(
            responder: responder, server: channels(metrics, updates),
            configuration: ApplicationConfiguration(
                address: .hostname(configuration.host, port: configuration.port), serverName: "rsdump", backlog: 1024,
                availableConnectionsDelegate: MaximumAvailableConnections(limits.connections, logger: .silent)),
            services: [loading], onServerRunning: { port.yield($0.localAddress?.port ?? 0) }, logger: .silent)
        var group = ServiceGroupConfiguration(
            services: [.init(service: application, successTerminationBehavior: .gracefullyShutdownGroup)],
            gracefulShutdownSignals: [.sigterm, .sigint], logger: .silent)
        group.maximumGracefulShutdownDuration = .seconds(limits.shutdownSeconds)
        do {
            try await ServiceGroup(configuration: group).run()
            // Hummingbird does not manage the connections that wait for updates.
            await updates.allHaveLeft(within: .seconds(limits.shutdownSeconds))
        } catch let error as IOError {
            switch error.errnoCode {
            case EADDRINUSE:
                throw address(
                    "is already in use", remedy: "choose a different port with --port, or 0 for any free port")
            case EADDRNOTAVAIL: throw notOfThisMachine
            case EACCES, EPERM:
                throw address(
                    "is not allowed, because ports below 1024 require extra privileges",
                    remedy: "choose a different port with --port")
            default:
                throw address("cannot be used (\(error))", remedy: "choose a different address with --host and --port")
            }
        } catch is SocketAddressError {
            throw notOfThisMachine
        } catch is SocketAddressError.UnknownHost {
            throw notOfThisMachine
        }
    }

    private var notOfThisMachine: Failure {
        address("is not an address of this machine", remedy: "choose a different address with --host")
    }

    private func address(_ problem: String, remedy: String) -> Failure {
        .address(configuration.host, port: configuration.port, problem, remedy: remedy)
    }

    /// Returns the address at which clients reach the server when it listens on a port.
    private func address(port: Int) throws -> OriginAddress {
        if let address = configuration.publicAddress { return address }
        let host = configuration.host.contains(":") ? "[\(configuration.host)]" : configuration.host
        return try OriginAddress("http://\(host):\(port)")
    }

    private func channels(_ metrics: Metrics, _ updates: UpdateHub) -> HTTPServerBuilder {
        let (limits, now, logger) = (limits, now, logger)
        let table = ConnectionTable(limits)
        let logsRequests = configuration.logsRequests
        return HTTPServerBuilder { responder in
            GuardedChannel(responder, limits) { size, isForHTTP in
                RequestGuard(
                    size, in: table, limits: limits, metrics: metrics, updates: updates,
                    isForHTTP: isForHTTP,
                    now: now, logsRequests: logsRequests, logger: logger)
            }
        }
    }

    /// Raises this process's limit of open files to the allowed maximum, and returns it.
    private static func openFiles() -> Int {
        var limit = rlimit()
        #if canImport(Glibc)
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
        let resource = RLIMIT_NOFILE
        #endif
        guard unsafe getrlimit(resource, &limit) == 0 else { return 1024 }
        var raised = limit
        raised.rlim_cur = min(limit.rlim_max, 1 << 20)
        if unsafe setrlimit(resource, &raised) == 0 { return Int(clamping: raised.rlim_cur) }
        return Int(clamping: limit.rlim_cur)
    }
}

extension DumpsDirectory {
    /// Whether there is a lock file, possibly at the end of a link.
    var hasLock: Bool { unsafe access(lockPath, F_OK) == 0 }
}

extension Logger {
    /// A logger that drops the frameworks' messages, which are useless or duplicate this package's own messages.
    fileprivate static var silent: Logger { Logger(label: "server") { _ in SwiftLogNoOpLogHandler() } }
}
