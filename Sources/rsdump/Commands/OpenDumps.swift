import ContentSignature
import Dumps
import RemoteSettingsHTTP
import RemoteSettingsModel

/// What a command on a directory of dumps begins with: where it is, what dumps.yaml and the options say, whom that trusts,
/// and which collections the command line names.
struct OpenDumps {
    let directory: DumpsDirectory
    let configuration: DumpsConfiguration
    let policy: TrustPolicy
    /// None for all.
    let names: [CollectionID]
    let limits = Limits()

    /// Reads dumps.yaml.
    ///
    /// - Parameters:
    ///   - isConfigured: whether there must be a dumps.yaml.
    ///   - applying: puts what options say in the place of what the file says.
    /// - Throws: ``ConfigurationError``, ``CommandFailure`` where nobody is trusted, `FileError`, or what the options throw.
    init(
        _ dumps: DumpsOptions, _ collections: [String] = [], isConfigured: Bool = true,
        applying: (DumpsConfiguration) throws -> DumpsConfiguration = { $0 }
    ) throws {
        directory = dumps.directory
        let hasFile = try isConfigured || directory.configurationText() != nil
        configuration = try applying(hasFile ? directory.configuration() : DumpsConfiguration())
        policy = try configuration.policy(file: directory.configurationPath)
        names = try collectionIDs(collections)
    }

    /// Runs with a client of the configured server, over the network.
    ///
    /// - Parameter onEvent: what the connection has to say; by itself, what the server wants people to know.
    func withServer<Value>(
        jobs: Int, onEvent: @escaping @Sendable (HTTPEvent) -> Void = Console.showAlert,
        _ body: (ServerClient) async throws -> Value
    ) async throws -> Value {
        let session = try ServerSession(configuration, directory: directory, jobs: jobs, onEvent: onEvent)
        do {
            let value = try await body(session.client)
            await session.end()
            return value
        } catch {
            await session.end()
            throw error
        }
    }
}

extension Console {
    /// Warns of what a server announces (the `Alert` header).
    @Sendable static func showAlert(_ event: HTTPEvent) {
        guard case .alert(let text, let url) = event else { return }
        error("warning: \(url) says: \(visible(text))")
    }
}
