import RemoteSettings
extension PackagedSource { static func ofEmbeddedFirefoxDumps() throws -> PackagedSource { .embedded(lock: Bytes(), bundles: [:]) } }
