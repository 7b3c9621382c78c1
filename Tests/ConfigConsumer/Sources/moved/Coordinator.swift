// Code in the shape of apps that use Mozilla's Swift binding, written after the binding's public documentation. To move
// it over, only the import was changed.

import Common
import Foundation
import RemoteSettingsBlocking

/// The collections that the app reads.
enum AppCollection: String, CaseIterable {
    case regions
    case icons

    func makeClient(_ service: RemoteSettingsService?) -> RemoteSettingsClient? {
        service?.makeClient(collectionName: rawValue)
    }
}

/// Receives the outcomes of syncs.
final class SyncTelemetry: RemoteSettingsTelemetry, @unchecked Sendable {
    private let lock = NSLock()
    private var values: [String] = []

    func reportUptake(extras: UptakeEventExtras) {
        lock.lock()
        defer { lock.unlock() }
        if let value = extras.value { values.append(value) }
    }

    var reported: [String] {
        lock.lock()
        defer { lock.unlock() }
        return values
    }
}

/// Holds the one service of the app.
final class Profile {
    private let makeService: (String, RemoteSettingsConfig2) -> RemoteSettingsService
    private let directory: String
    private let config: RemoteSettingsConfig2
    let telemetry = SyncTelemetry()

    init(
        directory: String, config: RemoteSettingsConfig2,
        makeService: @escaping (String, RemoteSettingsConfig2) -> RemoteSettingsService = { directory, config in
            RemoteSettingsService(storageDir: directory, config: config)
        }
    ) {
        self.directory = directory
        self.config = config
        self.makeService = makeService
    }

    lazy var remoteSettingsService: RemoteSettingsService = {
        let service = makeService(directory, config)
        service.setTelemetry(telemetry: telemetry)
        return service
    }()
}

/// Syncs once a day. The profile owns the service.
final class SyncCoordinator: @unchecked Sendable {
    private weak var service: RemoteSettingsService?
    private let logger: Logger

    init(service: RemoteSettingsService, logger: Logger = PrintingLogger()) {
        self.service = service
        self.logger = logger
    }

    func syncAll() -> [String]? {
        guard let service else { return nil }
        do {
            return try service.sync()
        } catch RemoteSettingsError.Network(let reason) {
            logger.log("no network: \(reason.prefix(12))", level: .info)
        } catch RemoteSettingsError.Backoff(let seconds) {
            logger.log("asked to wait for \(seconds) s", level: .info)
        } catch {
            logger.log("failed: \(error)", level: .warning)
        }
        return nil
    }

    func syncInBackground(_ completion: @escaping @Sendable ([String]?) -> Void) {
        DispatchQueue.global(qos: .utility).async { [weak self] in completion(self?.syncAll()) }
    }
}
