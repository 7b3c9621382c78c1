// The app's own names in files that import the library.

import Common
import RemoteConfiguration
import RemoteSettings

struct NamesOfTheApp: Sendable {
    let time = Timestamp(appSeconds: 1)
    let agent = UserAgent(appName: "app")
    let bytes = Bytes(appCount: 3)
    let limits = Limits(appLimit: 4)
    let value = JSONValue.appValue
    let digest = SHA256Digest(appDigest: "5")
    let environment = HTTPEnvironment(appEnvironment: "6")
    let logger: any Logger = PrintingLogger()

    /// The log of the library, in the app's own; swift-log is no dependency of the app.
    func config() -> RemoteSettingsConfig {
        var config = RemoteSettingsConfig()
        config.log = { [logger] entry in
            logger.log(entry.message, level: entry.level >= .warning ? .warning : .info)
        }
        return config
    }
}

/// A new part of the app, in a file that imports the asynchronous module.
func newest(of service: RemoteSettingsService) async throws -> RemoteSettingsTimestamp? {
    try await service.sync()
    return service.makeClient(collectionName: "markets").status.timestamp
}
