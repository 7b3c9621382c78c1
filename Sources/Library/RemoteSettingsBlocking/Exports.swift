import MozillaBinding
import RemoteSettings
import RemoteSettingsModel
import SnapshotBundle

// What is exported by its name wins over what other imports of the file bring under that name. So a file may import
// this module beside RemoteSettings, RemoteConfiguration or RemoteSettingsTesting, which bring the asynchronous
// service, and beside MozillaAppServices. Of RemoteSettings, only what the binding's calls need is exported: a file
// that needs more imports it as well.
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
