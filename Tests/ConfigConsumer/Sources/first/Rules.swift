import FirefoxDumps
import RemoteSettings

actor Rules {
    private let rules: EmbeddedClient

    init(_ service: RemoteSettingsService) { rules = service.makeClient(.passwordRules) }

    var count: Int { rules.records.count }
}
