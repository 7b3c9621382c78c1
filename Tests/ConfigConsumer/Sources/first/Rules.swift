import FirefoxDumps
import RemoteSettings

actor Rules {
    private let rules: TypedClient<RemoteSettingsRecord>

    init(_ service: RemoteSettingsService) { rules = service.makeClient(.passwordRules) }

    var count: Int { rules.records.count }
}
