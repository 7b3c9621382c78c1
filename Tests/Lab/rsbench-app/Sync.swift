import RemoteSettings
import RemoteSettingsBlocking

/// Syncs all collections. It blocks: an `await` in main.swift would make the whole program asynchronous, reads
/// included.
func syncedNow(_ service: RemoteSettings.RemoteSettingsService) throws -> [String] {
    try RemoteSettingsService(service).sync()
}
