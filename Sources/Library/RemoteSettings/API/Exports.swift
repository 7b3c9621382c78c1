import RemoteSettingsModel
import SnapshotBundle

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// The types of other modules that the public interface uses, so that an app imports one module.
//
// A type that is exported by its name wins over one that an app has from another module, without a word. So only those
// are exported whose names mean nothing elsewhere. The others have names of their own here.
@_exported import enum RemoteSettingsModel.Provenance
@_exported import struct RemoteSettingsModel.SignatureVerdict
@_exported import struct SnapshotBundle.TrustAnchors

/// Bytes in memory, which may be part of the program or of a file.
public typealias RemoteSettingsBytes = Bytes
/// The digest of SHA-256.
public typealias RemoteSettingsDigest = SHA256Digest
/// A number of a JSON document, with all its digits.
public typealias RemoteSettingsJSONNumber = JSONNumber
/// Any JSON value. It is written as a literal, and it is `Codable`.
public typealias RemoteSettingsJSON = JSONValue
/// A time, in milliseconds since 1970.
public typealias RemoteSettingsTimestamp = Timestamp

extension Timestamp {
    /// The nearest time in milliseconds; a time before 1970 becomes 1970.
    public init(_ date: Date) {
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
        self.init(milliseconds: UInt64(exactly: max(0, min(milliseconds, 1e18))) ?? 0)
    }

    /// The same time as a `Date`.
    public var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }
}

extension JSONValue {
    /// Reads a JSON document by RFC 8259. A key that appears twice in one object is refused.
    ///
    /// - Throws: ``RemoteSettingsError/other(reason:)`` with the place of the first fault.
    public init(json: String) throws(RemoteSettingsError) {
        do {
            try self.init(parsing: Bytes(utf8: json), limits: Limits())
        } catch {
            throw RemoteSettingsError(error)
        }
    }
}

extension TrustAnchors {
    /// Reads hashes as people write them, in upper or lower case.
    ///
    /// Each is either `C8:A8:0E:…` (32 pairs with colons) or 64 hexadecimal digits.
    ///
    /// - Throws: ``RemoteSettingsError/other(reason:)`` for the first text that is neither.
    public init(parsing texts: [String]) throws(RemoteSettingsError) {
        do {
            try self.init(hashes: texts)
        } catch {
            throw .other(reason: "\(error)")
        }
    }
}
