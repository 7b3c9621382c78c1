import AsyncHTTPTransport
import Dumps
import DumpsRefresh
import RemoteSettingsHTTP
import RemoteSettingsModel

/// A client of the configured server, over the network, for one command.
struct ServerSession {
    let client: ServerClient
    private let transport: AsyncHTTPClientTransport

    init(
        _ configuration: DumpsConfiguration, directory: DumpsDirectory, jobs: Int,
        onEvent: @escaping @Sendable (HTTPEvent) -> Void
    ) throws {
        let limits = Limits()
        let server = try configuration.serverURL()
        transport = AsyncHTTPClientTransport(jobs: jobs, limits: limits)
        client = ServerClient(
            server: server, transport: transport, userAgent: UserAgent(name: "rsdump", version: Version.text),
            limits: limits, backoff: directory.backoff(limits: limits), onEvent: onEvent)
    }

    func end() async {
        await transport.shutdown()
    }
}
