import MozillaBinding
import RemoteSettings
import RemoteSettingsModel
import SnapshotBundle

// Types that are exported by name take precedence over types of the same name from the file's other imports. So a file
// may import this module together with RemoteSettings, RemoteConfiguration or RemoteSettingsTesting, which export the
// asynchronous service, and with MozillaAppServices. From RemoteSettings, only the types used by the binding's methods
// are exported: a file that needs others has to import RemoteSettings as well.
@_exported import MozillaBinding
@_exported import class MozillaBinding.RemoteSettingsClient
@_exported import protocol MozillaBinding.RemoteSettingsClientProtocol
@_exported import typealias MozillaBinding.RemoteSettingsConfig2
@_exported import enum MozillaBinding.RemoteSettingsError
@_exported import class MozillaBinding.RemoteSettingsService
@_exported import protocol MozillaBinding.RemoteSettingsServiceProtocol
@_exported import protocol MozillaBinding.RemoteSettingsTelemetry
@_exported import typealias MozillaBinding.RsJsonObject
@_exported import struct MozillaBinding.UptakeEventExtras
@_exported import struct RemoteSettings.PackagedSource
@_exported import struct RemoteSettings.RemoteSettingsAttachment
@_exported import typealias RemoteSettings.RemoteSettingsBytes
@_exported import struct RemoteSettings.RemoteSettingsConfig
@_exported import struct RemoteSettings.RemoteSettingsContext
@_exported import typealias RemoteSettings.RemoteSettingsJSON
@_exported import struct RemoteSettings.RemoteSettingsLimits
@_exported import struct RemoteSettings.RemoteSettingsLogEntry
@_exported import struct RemoteSettings.RemoteSettingsRecord
@_exported import enum RemoteSettings.RemoteSettingsServer
@_exported import typealias RemoteSettings.RemoteSettingsTimestamp
@_exported import struct RemoteSettings.UptakeEvent
@_exported import struct SnapshotBundle.TrustAnchors
