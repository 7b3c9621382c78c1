// A file that needs both: RemoteSettingsBlocking wins, and a name of the older binding is qualified by its module.

import OlderBinding
import RemoteSettingsBlocking

typealias OlderService = OlderBinding.RemoteSettingsService

/// Rust code gets the older service; everything else reads through the new one.
struct BothServices: Sendable {
    let service: RemoteSettingsService
    let older: OlderService
}
