import DemoOrigin
import Dumps
import FileStorage
import Logging
import RemoteSettingsHTTP
import RemoteSettingsModel
import ServiceLifecycle
import SnapshotHistory
import SnapshotOrigin
import SnapshotServer

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// One run of `rsdump serve`.
struct ServerRun {
    private let options: Serve
    private let limits: Limits
    private let logger = Logger(label: "rsdump") { _ in ConsoleLog() }

    init(_ options: Serve) {
        self.options = options
        var limits = Limits()
        // What is left is for bundles and the system.
        limits.server.connections = min(limits.server.connections, max(64, Self.openFiles() - 512))
        self.limits = limits
    }

    func serve(_ directory: DumpsDirectory) async throws {
        guard TextFile.exists(directory.lockPath) else {
            throw CommandFailure(
                .usage, "\(directory.lockPath): expected a lock, found none; rsdump refresh makes one")
        }
        try await serve(
            loader(directory, history: try await history(directory)), into: try emptyState(), isWatched: options.watch,
            pages: SnapshotPages(directory: directory))
    }

    func serveDemo() async throws {
        let path = try FileStore.makeTemporaryDirectory("rsdump-demo")
        defer { try? FileStore.removeTree(path) }
        let demo = try DemoOrigin(directory: path, now: HTTPEnvironment.system.now())
        let state = try emptyState()
        let loader = loader(DumpsDirectory(path), history: nil)
        let controls = DemoControls(demo: demo, loader: loader, state: state)
        try await serve(
            loader, into: state, isWatched: false,
            pages: SnapshotPages(directory: DumpsDirectory(path), others: controls)
        ) {
            Console.print("trust-root \(demo.root)")
        }
    }

    private func loader(_ directory: DumpsDirectory, history: BundleHistory?) -> DumpsLoader {
        DumpsLoader(
            directory, history: history, softwareVersion: Version.text, limits: limits,
            report: { [logger] in logger.warning("\($0)") })
    }

    private func emptyState() throws -> StateBox {
        StateBox(
            ServedState(
                origin: try Origin([], address: try OriginAddress("http://localhost"), softwareVersion: Version.text),
                entries: [:]))
    }

    /// Listens first, as the documents name the port.
    private func serve(
        _ loader: DumpsLoader, into state: StateBox, isWatched: Bool, pages: (any PageSource)? = nil,
        announcing: @escaping @Sendable () -> Void = {}
    ) async throws {
        let metrics = Metrics()
        var configuration = SnapshotServer.Configuration(host: options.host, port: options.port)
        configuration.logsRequests = options.logRequests
        if let certificate = options.tlsCert, let key = options.tlsKey { configuration.tls = (certificate, key) }
        let (host, publicURL, isSecure) = (options.host, options.publicURL, options.tlsCert != nil)
        let server = SnapshotServer(
            configuration, limits: limits.server, pages: pages, now: HTTPEnvironment.system.now, logger: logger)
        var services: [any Service] = []
        if isWatched {
            services.append(
                DirectoryWatch(loader, into: state, metrics: metrics, limits: limits.server, logger: logger))
        }
        try await server.run(state, metrics: metrics, services: services) { port in
            let name = host.contains(":") ? "[\(host)]" : host
            let address = try OriginAddress(publicURL ?? "http\(isSecure ? "s" : "")://\(name):\(port)")
            let first = try await loader.begin(at: address)
            state.replace(with: first)
            for (id, problem) in first.problems.sorted(by: { $0.key < $1.key }) {
                Console.error("rsdump: not served: \(id): \(problem)")
            }
            Console.print("\(address)")
            announcing()
            Console.error(
                "rsdump: \(first.summary); the API is at \(address)/v1 and /v2, a page for people at \(address)/")
            if publicURL == nil, ["0.0.0.0", "::"].contains(host) {
                Console.error(
                    "rsdump: clients on other machines cannot follow links to \(address): --public-url names one that they can"
                )
            }
        }
    }

    private func history(_ directory: DumpsDirectory) async throws -> BundleHistory? {
        guard !options.histories.isEmpty else { return nil }
        var sources: [BundleHistory.Source] = []
        for history in options.histories {
            if history == "git" {
                sources.append(.git(try await GitRepository(containing: directory.path, limits: limits)))
            } else {
                // A link to a folder will do, as for what is walked below it.
                guard try FileStore.list(history) != nil else {
                    throw CommandFailure(
                        .usage, "--history \(history): expected git, or a folder of older bundles; found none")
                }
                sources.append(.path(history))
            }
        }
        return BundleHistory(sources, limits: limits)
    }

    /// Raises the number of files that this process may have open as far as it may, and says how many that are.
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

extension ServedState {
    /// What is served, in a few words.
    fileprivate var summary: String {
        let states = origin.collections.reduce(0) { $0 + $1.history.count }
        return Counted.text(origin.collections.count, "collection")
            + (states > 0 ? ", deltas from \(Counted.text(states, "older state"))" : "")
            + (problems.isEmpty ? "" : ", \(problems.count) not served as locked")
    }
}

/// What a server reports, a line each, to standard error.
private struct ConsoleLog: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        Console.error(Console.visible("rsdump: \(event.message)"))
    }
}

/// `POST /demo/publish`, for whoever is on this machine and is no web page.
private struct DemoControls: PageSource {
    let demo: DemoOrigin
    let loader: DumpsLoader
    let state: StateBox

    func answer(_ request: PageRequest) async -> PageResponse? {
        guard request.path == "/demo/publish" else { return nil }
        guard request.method == "POST" else { return nil }
        // A browser names the page that sends a form; the page of another site could do so without its reader's will.
        guard request.isLoopback, request.origin == nil else {
            return response(403, .object([.init(key: "error", value: .string("only from this machine, by no page"))]))
        }
        do {
            let changes = try await demo.publish(now: request.now)
            if let next = try await loader.reload() { state.replace(with: next) }
            return response(
                200, .object([.init(key: "published", value: .array(changes.map { .string($0) }))]))
        } catch {
            return response(500, .object([.init(key: "error", value: .string("\(error)"))]))
        }
    }

    private func response(_ status: Int, _ json: JSONValue) -> PageResponse {
        PageResponse(
            status: status, headers: [("Content-Type", "application/json"), ("Cache-Control", "no-store")],
            body: .segments([Bytes(JSONText.compact(json))]))
    }
}
