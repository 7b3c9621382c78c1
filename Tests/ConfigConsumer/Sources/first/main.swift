import FirefoxDumps
import RemoteSettings

let service = RemoteSettingsService(
    storageDir: "storage", config: RemoteSettingsConfig(packaged: [FirefoxDumps.packaged]))
for rule in service.makeClient(.passwordRules).records.prefix(2) { print(rule.id, rule.lastModified) }
print(await Rules(service).count)
