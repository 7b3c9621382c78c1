import ArgumentParser
import Dumps
import Logging
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
import SnapshotOrigin
import SnapshotServer

/// `rsdump serve`
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serve bundles as a Remote Settings server.",
        usage: "rsdump serve [<options>]",
        discussion: """
            Serves the v1 and v2 APIs, attachments, certificate chains, events, and a web UI at /.
              rsdump serve --watch --history git --port 8000
              rsdump serve --demo
            For details, see Server.md in share/doc/rsdump.
            """)

    @OptionGroup var dumps: DumpsOptions

    @Option(help: ArgumentHelp("The address to listen on.", valueName: "address"))
    var host = "127.0.0.1"

    @Option(help: ArgumentHelp("The port to listen on; 0 for any free port.", valueName: "port"))
    var port = 8888

    @Option(
        help: ArgumentHelp(
            "The URL at which clients reach the server; by default, http://HOST:PORT.",
            valueName: "url"))
    var publicURL: String?

    @Flag(help: "Serve new bundles after each refresh, without a restart.")
    var watch = false

    @OptionGroup var older: HistoryOption
    private var history: [String] { older.places }

    @Flag(help: ArgumentHelp("Serve signed sample collections, and print their trust root."))
    var demo = false

    @Flag(help: "Log every response to standard error.")
    var logRequests = false

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("--port expects 0 to 65535; found \(port)") }
        guard !demo || (!watch && history.isEmpty) else {
            throw ValidationError(
                "--demo cannot be combined with --watch or --history, because it makes its own collections")
        }
        do {
            _ = try publicURL.map { try OriginAddress($0) }
        } catch {
            throw ValidationError("--public-url: \(error)")
        }
    }

    func run() async throws {
        guard demo else { return try await serve(dumps.directory) }
        let temporary = try TemporaryDirectory()
        defer { withExtendedLifetime(temporary) {} }
        let demo = try DemoOrigin(directory: temporary.path, now: HTTPEnvironment.system.now())
        try await serve(DumpsDirectory(temporary.path), publish: { try await demo.publish(now: $0) }) {
            Console.print("trust-root \(demo.root)")
        }
    }

    private func serve(
        _ directory: DumpsDirectory, publish: (@Sendable (Timestamp) async throws -> [String])? = nil,
        announcing: @escaping @Sendable () -> Void = {}
    ) async throws {
        var configuration = OriginServer.Configuration(host: host, port: port)
        configuration.publicAddress = try publicURL.map { try OriginAddress($0) }
        configuration.history = try await olderBundles(of: directory, in: history)
        configuration.isWatching = watch
        configuration.logsRequests = logRequests
        configuration.softwareVersion = RSDump.version
        let server = OriginServer(
            directory, configuration, now: HTTPEnvironment.system.now,
            logger: Logger(label: "rsdump") { _ in ConsoleLog() })
        let isUnreachable = publicURL == nil && ["0.0.0.0", "::"].contains(host)
        try await server.run(publish: publish) { state in
            let address = state.origin.address
            for (id, problem) in state.problems.sorted(by: { $0.key < $1.key }) {
                Console.error("rsdump: not served: \(id): \(problem)")
            }
            Console.print("\(address)")
            announcing()
            Console.error("rsdump: \(state.summary); API: \(address)/v1 and /v2; web UI: \(address)/")
            if isUnreachable {
                Console.error(
                    "rsdump: clients on other machines cannot follow links to \(address); set an address that they "
                        + "can reach with --public-url")
            }
        }
    }
}

/// Writes a server's messages to standard error, one line each.
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
