import ArgumentParser
import CurlTransport
import Dumps
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// Reads a collection's name from the command line.
///
/// - Throws: `IdentifierError`. The argument parser shows it beside the argument.
@Sendable func collectionID(_ name: String) throws -> CollectionID { try CollectionID(name) }

/// An option that names a dumps directory.
protocol DirectoryOption {
    var path: String { get }
}

extension DirectoryOption {
    var directory: DumpsDirectory { DumpsDirectory(path.withoutTrailingSlashes) }
}

/// The option of the commands that work on a dumps directory in the file system.
struct DumpsOptions: ParsableArguments, DirectoryOption {
    @Option(name: .customLong("dumps"), help: ArgumentHelp("The dumps directory.", valueName: "dir"))
    var path = "dumps"

    func validate() throws {
        guard case .git? = DiffSide.Place(path) else { return }
        throw ValidationError("--dumps must be a directory, because this command cannot read commits; found \(path)")
    }
}

/// The option of the commands that only read a dumps directory, and may read it from a commit.
struct ReadDumpsOptions: ParsableArguments, DirectoryOption {
    @Option(
        name: .customLong("dumps"),
        help: ArgumentHelp("The dumps directory, or git:REV or git:REV:DIR.", valueName: "dir"))
    var path = "dumps"

    /// Checks the directory out of git into a temporary one if the option names a commit.
    ///
    /// - Returns: the temporary directory, which is removed when it is released; `nil` if the option names a plain
    ///   directory.
    mutating func checkOutCommit() async throws -> TemporaryDirectory? {
        guard case .git(let revision, let place)? = DiffSide.Place(path) else { return nil }
        let copy = try await DumpsDirectory.checkOut(revision, of: place ?? "dumps")
        path = copy.path
        return copy
    }
}

extension String {
    /// The path without slashes at its end. The root `/` stays.
    var withoutTrailingSlashes: String {
        var path = self[...]
        while path.count > 1, path.hasSuffix("/") { path = path.dropLast() }
        return String(path)
    }
}

/// The option for trusted root certificates.
struct TrustOptions: ParsableArguments {
    @Option(
        name: .customLong("trust-root"), parsing: .singleValue,
        help: ArgumentHelp("The SHA-256 of a root certificate to trust; repeatable.", valueName: "sha256"))
    var roots: [String] = []

    func validate() throws {
        do {
            _ = try TrustAnchors(hashes: roots)
        } catch {
            throw ValidationError("\(error)")
        }
    }

    /// The configuration, with the option's roots in place of its own if there are any.
    func applied(to configuration: DumpsConfiguration) throws -> DumpsConfiguration {
        var configuration = configuration
        if !roots.isEmpty { configuration.trust.roots = try TrustAnchors(hashes: roots).roots }
        return configuration
    }
}

/// The option for the server.
struct ServerOption: ParsableArguments {
    @Option(
        help: ArgumentHelp("prod, stage, dev, or a base URL (/v2 unless it includes a version).", valueName: "server"))
    var server: String?

    func validate() throws {
        do {
            // The configuration, which is not read yet, says whether plain HTTP is allowed.
            _ = try server.map { try ServerURL($0, allowPlainHTTP: true) }
        } catch {
            throw ValidationError("\(error)")
        }
    }
}

/// The options for the server and its trusted root certificates.
struct ServerOptions: ParsableArguments {
    @OptionGroup private var option: ServerOption
    @OptionGroup var trust: TrustOptions

    var server: String? { option.server }
    /// Whether one of the options was given.
    var isGiven: Bool { server != nil || !trust.roots.isEmpty }

    /// The configuration with the options in place of its own settings.
    func applied(to configuration: DumpsConfiguration) throws -> DumpsConfiguration {
        var configuration = try trust.applied(to: configuration)
        if let server { configuration.server = server }
        return configuration
    }
}

/// The dumps directory that a command works on, its settings and its trust policy. The settings come from `dumps.yaml`
/// and the options.
struct OpenDumps {
    let directory: DumpsDirectory
    let configuration: DumpsConfiguration
    let policy: TrustPolicy
    let limits = Limits()

    /// Reads `dumps.yaml`.
    ///
    /// - Parameters:
    ///   - isConfigured: whether a missing `dumps.yaml` is an error.
    ///   - applying: replaces settings of the file with those of the options.
    /// - Throws: `DumpsError`, `BundleError`, or the error of `applying`.
    init(
        _ dumps: some DirectoryOption, isConfigured: Bool = true,
        applying: (DumpsConfiguration) throws -> DumpsConfiguration = { $0 }
    ) throws {
        directory = dumps.directory
        let hasFile = try isConfigured || directory.configurationText() != nil
        configuration = try applying(hasFile ? directory.configuration() : DumpsConfiguration())
        policy = try configuration.policy(file: directory.configurationPath)
    }

    /// Calls `body` with a client of the configured server, over the network. Closes the connections without waiting
    /// afterwards.
    ///
    /// - Parameter onEvent: called with the events of the connection. By default, shows the server's alerts.
    func withServer<Value>(
        jobs: Int, onEvent: @escaping @Sendable (HTTPEvent) -> Void = Console.showAlert,
        _ body: (ServerClient) async throws -> Value
    ) async throws -> Value {
        let server = try configuration.serverURL()
        let transport = CurlTransport(connectionsPerHost: jobs)
        let client = ServerClient(
            server: server, transport: transport, userAgent: UserAgent(name: "rsdump", version: RSDump.version),
            limits: limits, backoff: directory.backoff(limits: limits), prefersReceivedMetadata: true, onEvent: onEvent)
        return try await body(client)
    }
}

/// The argument that names a bundle by its path, or by its collection in the dumps directory, now or at a commit.
struct BundleArgument: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "A path, BUCKET/COLLECTION, or git:REV:NAME for a bundle in a commit.",
            valueName: "bundle"))
    var bundle: String

    @OptionGroup var dumps: DumpsOptions

    /// - Throws: `BundleError`, `DumpsError`, or ``CommandFailure`` if there is no such bundle.
    func open() async throws -> BundleReader {
        if bundle.hasPrefix("git:") { return try await openCommitted() }
        let id = bundle.hasSuffix(".zip") ? nil : try? CollectionID(bundle)
        let path = id.map(dumps.directory.bundlePath) ?? bundle
        guard try FileStore.exists(path) else {
            throw CommandFailure(
                .usage,
                "\(path): there is no such bundle; give the path of a .zip file, or BUCKET/COLLECTION and --dumps DIR")
        }
        return try BundleReader(path: path, limits: Limits())
    }

    private func openCommitted() async throws -> BundleReader {
        guard case .git(let revision, let name?)? = DiffSide.Place(bundle) else {
            throw CommandFailure(
                .usage, "\(bundle) is not a bundle; write git:REV:BUCKET/COLLECTION or git:REV:PATH.zip")
        }
        if name.hasSuffix(".zip") { return try await DiffSide.bundle(at: name, in: revision) }
        let id = try collectionID(name)
        let repository = try await GitRepository(containing: dumps.directory.path)
        guard let found = try await HistoricBundle(of: id, at: revision, in: repository) else {
            throw CommandFailure(
                .usage, "git:\(revision): this commit has no \(dumps.directory.bundlePath(id)); give a different commit"
            )
        }
        return try await found.open()
    }
}
