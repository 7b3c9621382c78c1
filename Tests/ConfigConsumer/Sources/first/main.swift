import FirefoxDumps
import RemoteSettings

let service = RemoteSettingsService(
    storageDirectory: "storage", config: RemoteSettingsConfig(packaged: [FirefoxDumps.packaged]))
for rule in service.makeClient(.passwordRules).records.prefix(2) { print(rule.id, rule.lastModified) }
print(await Rules(service).count)
