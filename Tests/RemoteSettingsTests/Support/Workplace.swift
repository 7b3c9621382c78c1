import AsyncHTTPTransport
import ContentSignature
import Dumps
import DumpsRefresh
import Foundation
import RemoteSettings
import RemoteSettingsHTTP
import RemoteSettingsModel

/// A directory of a test's own, with what the test needs around a service. It goes when the test ends.
final class Workplace: Sendable {
    static let transport = AsyncHTTPClientTransport()

    let directory: URL
    let server: KintoServer

    var storage: String { directory.appending(path: "storage").path }

    init() throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "rs-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        server = try KintoServer.shared.get()
    }

    deinit {
        try? FileManager.default.removeItem(at: directory)
    }

    func path(_ name: String) -> String { directory.appending(path: name).path }

    /// A configuration for the test server.
    func config(_ change: (inout RemoteSettingsConfig) -> Void = { _ in }) -> RemoteSettingsConfig {
        var config = RemoteSettingsConfig(
            server: .custom(url: server.url), trustRoots: server.root, transport: Self.transport)
        config.logger.logLevel = .critical
        change(&config)
        return config
    }

    /// A service as a process that has just started has it.
    func service(_ change: (inout RemoteSettingsConfig) -> Void = { _ in }) -> RemoteSettingsService {
        RemoteSettingsService(storageDir: storage, config: config(change))
    }

    /// Packages collections in their present state, as `rsdump refresh` does.
    ///
    /// - Returns: the directory.
    func package(
        _ collections: [ServerCollection], as name: String = "dumps", acceptsUnsigned: Bool = false,
        attachments: AttachmentRule = AttachmentRule(.all)
    ) async throws -> String {
        let path = path(name)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        var configuration = DumpsConfiguration()
        configuration.server = server.url
        configuration.collections = try collections.map {
            .init(id: try CollectionID($0.id), attachments: attachments)
        }.sorted { $0.id < $1.id }
        let client = ServerClient(
            server: try ServerURL(server.url), transport: Self.transport,
            userAgent: UserAgent(name: "tests", version: "1"))
        let report = try await Refresh(
            DumpsDirectory(path), configuration: configuration, client: client,
            policy: TrustPolicy(roots: server.root, acceptsUnsigned: acceptsUnsigned), options: .init(),
            now: HTTPEnvironment.system.now(), onEvent: { _ in }
        ).run()
        for outcome in report.outcomes {
            if let error = outcome.error { throw KintoServer.Failure(description: "\(outcome.id): \(error)") }
        }
        return path
    }
}

/// Removes the network: whatever asks for it fails the test.
struct NoTransport: HTTPTransport {
    func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
        throw HTTPError(request.url, .unreachable("this test is offline"))
    }
}
