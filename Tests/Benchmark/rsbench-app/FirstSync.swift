import RemoteSettingsBlocking

/// An app's first sync. It blocks: an `await` in main.swift would make the whole program asynchronous, reads included.
func firstSync(_ service: RemoteSettings.RemoteSettingsService) throws -> [String] {
    try RemoteSettingsService(service).sync()
}
