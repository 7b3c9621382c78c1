// The types of other modules that the public interface uses, so that an app imports one module.
@_exported import struct ContentSignature.TrustAnchors
@_exported import struct Logging.Logger
@_exported import struct RemoteSettingsHTTP.HTTPEnvironment
@_exported import protocol RemoteSettingsHTTP.HTTPTransport
@_exported import struct RemoteSettingsHTTP.UserAgent
@_exported import struct RemoteSettingsModel.Bytes
@_exported import struct RemoteSettingsModel.CollectionID
@_exported import enum RemoteSettingsModel.JSONValue
@_exported import struct RemoteSettingsModel.Limits
@_exported import enum RemoteSettingsModel.Provenance
@_exported import struct RemoteSettingsModel.SHA256Digest
@_exported import struct RemoteSettingsModel.SignatureVerdict
@_exported import struct RemoteSettingsModel.Timestamp
@_exported import enum UpdateEvents.UpdateEvent
@_exported import struct UpdateEvents.UpdateEventError
@_exported import enum UpdateEvents.UpdateMessage
@_exported import enum UpdateEvents.UpdatePause
