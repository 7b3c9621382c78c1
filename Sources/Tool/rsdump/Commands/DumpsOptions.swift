import ArgumentParser
import CurlTransport
import Dumps
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// Parses a collection's name on the command line.
///
/// - Throws: `IdentifierError`. The argument parser prints it together with the argument.
@Sendable func collectionID(_ name: String) throws -> CollectionID { try CollectionID(name) }

/// The option `--dumps`, which specifies a dumps directory.
protocol DirectoryOption {
    var path: String { get }
}

extension DirectoryOption {
    var directory: DumpsDirectory { DumpsDirectory(path.withoutTrailingSlashes) }

    /// Warns of collections that `dumps.yaml` lists, but that a command for all collections leaves out.
    func warnOfMissing() throws {
        for id in try directory.neverFetched() {
            Console.error("warning: \(id): left out, because it has never been fetched; run rsdump refresh")
        }
    }
}

/// The `--dumps` option of commands that can use only a directory in the file system.
struct DumpsOptions: ParsableArguments, DirectoryOption {
    @Option(name: .customLong("dumps"), help: ArgumentHelp("The dumps directory.", valueName: "dir"))
    var path = "dumps"

    func validate() throws {
        guard case .git? = DiffSide.Place(path) else { return }
        throw ValidationError("--dumps must be a directory, because this command cannot read commits; found \(path)")
    }
}

/// The `--dumps` option of commands that only read the directory, and can read it from a git commit.
struct ReadDumpsOptions: ParsableArguments, DirectoryOption {
    @Option(
        name: .customLong("dumps"),
        help: ArgumentHelp("The dumps directory, or git:REV or git:REV:DIR.", valueName: "dir"))
    var path = "dumps"

    /// Checks the directory out of git into a temporary one if the option refers to a commit.
    ///
    /// - Returns: the copy, which is deleted with the last reference to it; `nil` if the option is a plain directory.
    mutating func checkOutCommit() async throws -> CommittedDumps? {
        guard case .git(let revision, let place)? = DiffSide.Place(path) else { return nil }
        let copy = try await CommittedDumps(revision, of: [place ?? "dumps"])
        Console.show(copy.name, for: copy.path)
        path = copy.path
        return copy
    }
}

extension String {
    /// The path without trailing slashes. The root `/` remains unchanged.
    var withoutTrailingSlashes: String {
        var path = self[...]
        while path.count > 1, path.hasSuffix("/") { path = path.dropLast() }
        return String(path)
    }
}

/// The `--trust-root` option for trusted root certificates.
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

    /// Returns the configuration, with its roots replaced by the option's roots if there are any.
    func applied(to configuration: DumpsConfiguration) throws -> DumpsConfiguration {
        var configuration = configuration
        if !roots.isEmpty { configuration.trust.roots = try TrustAnchors(hashes: roots).roots }
        return configuration
    }
}

/// The `--server` option.
struct ServerOption: ParsableArguments {
    @Option(
        help: ArgumentHelp("The server: prod, stage, dev, or a base URL (default version: /v2).", valueName: "server"))
    var server: String?

    func validate() throws { try Self.check(server) }

    /// Throws a `ValidationError` if the server is neither a known name nor a valid URL.
    static func check(_ server: String?) throws {
        do {
            // Accept plain HTTP for now: dumps.yaml decides whether it is allowed, and has not been read yet.
            _ = try server.map { try ServerURL($0, allowPlainHTTP: true) }
        } catch {
            throw ValidationError("\(error)")
        }
    }
}

/// The options `--server` and `--trust-root`.
struct ServerOptions: ParsableArguments {
    @OptionGroup private var option: ServerOption
    @OptionGroup var trust: TrustOptions

    var server: String? { option.server }
    /// Whether at least one of the options is present.
    var isGiven: Bool { server != nil || !trust.roots.isEmpty }

    /// Returns the configuration, with its settings replaced by the options.
    func applied(to configuration: DumpsConfiguration) throws -> DumpsConfiguration {
        var configuration = try trust.applied(to: configuration)
        if let server { configuration.server = server }
        return configuration
    }
}

/// The dumps directory that a command works on, with its settings (from `dumps.yaml` and the options) and its trust
/// policy.
struct OpenDumps {
    let directory: DumpsDirectory
    let configuration: DumpsConfiguration
    let policy: TrustPolicy
    var limits = Limits()

    /// Begins a change of the directory, and then reads its `dumps.yaml`, which another process may have changed while
    /// this one was waiting. The caller ends the transaction.
    ///
    /// - Parameters:
    ///   - duration: how long to wait if another process is using the directory, in real time.
    ///   - isReadOnly: whether to write nothing.
    ///   - isConfigured: whether a missing `dumps.yaml` is an error.
    ///   - applying: replaces settings of the file with those of the options.
    /// - Throws: the errors of `DumpsTransaction.begin`, and `Failure`, or the error of `applying`.
    static func begin(
        _ dumps: some DirectoryOption, waiting duration: Duration = .seconds(1), isReadOnly: Bool = false,
        isConfigured: Bool = true, applying: (DumpsConfiguration) throws -> DumpsConfiguration
    ) async throws -> (DumpsTransaction, OpenDumps) {
        // What is wrong already is told before anything is created or waited for.
        _ = try OpenDumps(dumps, isConfigured: isConfigured, isFirstLook: true, applying: applying)
        let transaction = try await DumpsTransaction.begin(
            in: dumps.directory, waiting: duration, isReadOnly: isReadOnly)
        do {
            return (transaction, try OpenDumps(dumps, isConfigured: isConfigured, applying: applying))
        } catch {
            try? transaction.end()
            throw error
        }
    }

    /// Opens the directory for reading, and reads its `dumps.yaml`.
    ///
    /// - Parameters:
    ///   - isConfigured: whether a missing `dumps.yaml` is an error.
    ///   - isFirstLook: whether the directory is opened again soon, so that nothing is noted now.
    ///   - applying: replaces settings of the file with those of the options.
    /// - Throws: `Failure`, or the error of `applying`.
    init(
        _ dumps: some DirectoryOption, isConfigured: Bool = true, isFirstLook: Bool = false,
        applying: (DumpsConfiguration) throws -> DumpsConfiguration = { $0 }
    ) throws {
        directory = dumps.directory
        let hasFile = try isConfigured || directory.configurationText() != nil
        configuration = try applying(hasFile ? directory.configuration() : DumpsConfiguration())
        policy = try configuration.policy(file: directory.configurationPath)
        if configuration.hasCatalogue, !isFirstLook {
            Console.error("note: \(directory.configurationPath): catalogue: has no effect any more; remove the section")
        }
    }

    /// Calls `body` with a client for the configured server. The client uses the network.
    ///
    /// - Parameter onEvent: called with each event of the client. The default prints the server's alerts.
    func withServer<Value>(
        jobs: Int, onEvent: @escaping @Sendable (HTTPEvent) -> Void = Console.showAlert,
        _ body: (ServerClient) async throws -> Value
    ) async throws -> Value {
        let server = try configuration.serverURL()
        let transport = CurlTransport(connectionsPerHost: jobs)
        let client = ServerClient(
            server: server, transport: transport, userAgent: UserAgent(name: "rsdump", version: RSDump.version),
            limits: limits, backoff: directory.backoff(), prefersReceivedMetadata: true, onEvent: onEvent)
        return try await body(client)
    }
}

/// An argument that specifies a bundle by its path, or by its collection in the dumps directory, now or at a commit.
struct BundleArgument: ParsableArguments {
    @Argument(
        help: ArgumentHelp("A path, BUCKET/COLLECTION, or git:REV:NAME for a bundle in a commit.", valueName: "bundle"))
    var bundle: String

    @OptionGroup var dumps: DumpsOptions

    /// Opens the bundle.
    ///
    /// - Throws: `Failure`, or ``CommandFailure`` if there is no such bundle.
    func open() async throws -> BundleReader {
        if bundle.hasPrefix("git:") { return try await openCommitted() }
        let id = bundle.hasSuffix(".zip") ? nil : try? CollectionID(bundle)
        let path = id.map(dumps.directory.bundlePath) ?? bundle
        guard try FileStore.exists(path) else {
            let advice = "give the path of a .zip file, or BUCKET/COLLECTION and --dumps DIR"
            let known = (try? dumps.directory.lockFile().collections.keys.sorted()) ?? []
            if let id, known.contains(id) { throw Failure.missingBundle(path) }
            throw CommandFailure(
                .usage,
                "\(path): there is no such bundle; \([id].compactMap(\.self).didYouMean(known, or: advice))")
        }
        return try BundleReader(path: path)
    }

    private func openCommitted() async throws -> BundleReader {
        guard case .git(let revision, let name?)? = DiffSide.Place(bundle) else {
            throw CommandFailure(
                .usage, "\(bundle) is not a bundle; write git:REV:BUCKET/COLLECTION or git:REV:PATH.zip")
        }
        if name.hasSuffix(".zip") { return try await DiffSide.bundle(at: name, in: revision) }
        let id = try collectionID(name)
        guard let found = try await HistoricBundle(of: id, at: revision, in: dumps.directory.path) else {
            throw CommandFailure(
                .usage,
                "git:\(revision): this commit has no \(dumps.directory.bundlePath(id)); correct the name or the commit"
            )
        }
        return try await found.open()
    }
}
