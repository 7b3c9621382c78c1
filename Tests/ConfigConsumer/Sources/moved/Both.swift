// A file that needs both: the older binding has a type of the name of the module RemoteSettings, so that a name cannot
// be qualified by that module here. What is imported by its name wins.

import OlderBinding
import RemoteSettingsBlocking
import class RemoteSettingsBlocking.RemoteSettingsService

typealias OlderService = OlderBinding.RemoteSettingsService

/// What is handed to Rust code stays the older service; everything else reads by the new one.
struct BothServices: Sendable {
    let service: RemoteSettingsService
    let older: OlderService
}
