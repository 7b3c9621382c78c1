// A file that needs both: RemoteSettingsBlocking wins, and a name of the older binding is qualified by its module.

import OlderBinding
import RemoteSettingsBlocking

typealias OlderService = OlderBinding.RemoteSettingsService

/// What is handed to Rust code stays the older service; everything else reads by the new one.
struct BothServices: Sendable {
    let service: RemoteSettingsService
    let older: OlderService
}
