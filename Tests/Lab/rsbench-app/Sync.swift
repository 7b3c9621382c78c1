import RemoteSettings
import RemoteSettingsBlocking

/// Syncs all collections. It blocks, because an `await` in main.swift would make the whole program asynchronous,
/// including the reads.
func syncedNow(_ service: RemoteSettings.RemoteSettingsService) throws -> [String] {
    try RemoteSettingsService(service).sync()
}
