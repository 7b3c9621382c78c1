// A web server whose flags are signed parameters of Remote Settings. Environment variables take precedence over published
// values, and these over a file of defaults. A flag may differ for each user, and changes within a second of `rsdump publish`.
//
//     flag-server SETTINGS-URL ROOT COLLECTION STORAGE DEFAULTS.env
//
// It listens on a free port of 127.0.0.1, which it prints. `GET /?user=NAME` answers with the flag `greeting`.

import Configuration
import Foundation
import Hummingbird
import Logging
import RemoteSettings
import RemoteSettingsConfiguration
import ServiceLifecycle

@main
@available(macOS 15, *)
struct FlagServer {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 6 else {
            print("usage: flag-server SETTINGS-URL ROOT COLLECTION STORAGE DEFAULTS.env")
            exit(2)
        }
        let settings = RemoteSettingsService(
            storageDirectory: arguments[4],
            config: RemoteSettingsConfig(
                server: .custom(url: arguments[1]), trustRoots: try TrustAnchors(parsing: [arguments[2]])))
        let flags = ConfigReader(providers: [
            EnvironmentVariablesProvider(),
            RemoteSettingsProvider(client: settings.makeClient(collectionName: arguments[3])),
            try await EnvironmentVariablesProvider(environmentFilePath: .init(arguments[5])),
        ])
        let router = Router()
        router.get("/") { request, _ in
            let user = request.uri.queryParameters["user"].map(String.init) ?? ""
            return flags.string(forKey: ConfigKey("greeting", context: ["id": .string(user)]), default: "no greeting")
        }
        let server = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: {
                let url = "http://127.0.0.1:\($0.localAddress?.port ?? 0)\n"
                FileHandle.standardOutput.write(Data(url.utf8))
            })
        try await ServiceGroup(
            services: [server, Following(settings: settings)], gracefulShutdownSignals: [.sigterm, .sigint],
            logger: Logger(label: "flag-server")
        ).run()
    }
}

/// Keeps the collections current: immediately if the server announces changes, and at least every hour.
struct Following: Service {
    let settings: RemoteSettingsService

    func run() async throws {
        settings.startUpdates()
        await cancelWhenGracefulShutdown { await settings.run(every: .seconds(3600)) }
        settings.shutdown()
    }
}
