import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotTrust

// The types of other modules that the public interface uses, so that an app imports one module.
//
// A type that is exported by its name wins over one that an app has from another module, without a word. So only those
// are exported whose names mean nothing elsewhere. The others have names of their own here.
@_exported import enum RemoteSettingsHTTP.UpdateEvent
@_exported import enum RemoteSettingsHTTP.UpdateMessage
@_exported import enum RemoteSettingsHTTP.UpdatePause
@_exported import struct RemoteSettingsHTTP.UpdateEventError
@_exported import struct RemoteSettingsHTTP.UpdateSourceError
@_exported import enum RemoteSettingsModel.Provenance
@_exported import struct RemoteSettingsModel.CollectionID
@_exported import struct RemoteSettingsModel.SignatureVerdict
@_exported import struct SnapshotTrust.TrustAnchors

/// Bytes in memory, which may be part of the program or of a file.
public typealias RemoteSettingsBytes = Bytes
/// The digest of SHA-256.
public typealias RemoteSettingsDigest = SHA256Digest
/// The clock, the way to wait, and the source of randomness.
public typealias RemoteSettingsEnvironment = HTTPEnvironment
/// Any JSON value.
public typealias RemoteSettingsJSON = JSONValue
/// The limits on everything that comes from outside.
public typealias RemoteSettingsLimits = Limits
/// A time, in milliseconds since 1970.
public typealias RemoteSettingsTimestamp = Timestamp
/// A connection to the network.
public typealias RemoteSettingsTransport = HTTPTransport

// What an app writes a connection to the network with.

/// A request that a connection to the network is asked to send.
public typealias RemoteSettingsRequest = HTTPRequest
/// The head of an answer, with its body still to be read.
public typealias RemoteSettingsResponse = HTTPResponse
/// The body of an answer, read piece by piece.
public typealias RemoteSettingsResponseBody = HTTPBody
/// The header fields of a request or an answer.
public typealias RemoteSettingsHeaders = HTTPHeaders
/// The URL of a request.
public typealias RemoteSettingsURL = HTTPURL
/// Why no answer came, or none that can be used.
public typealias RemoteSettingsTransportError = HTTPError
