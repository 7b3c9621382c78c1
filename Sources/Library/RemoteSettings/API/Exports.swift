import RemoteSettingsModel
import SnapshotBundle

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// The types of other modules that are part of the public interface, so that an app needs to import only one module.
//
// An exported type silently takes precedence over a type of the same name from another module that an app imports. So
// only distinctive names are exported; types with common names get an alias here.
@_exported import enum RemoteSettingsModel.Provenance
@_exported import struct RemoteSettingsModel.SignatureVerdict
@_exported import struct SnapshotBundle.TrustAnchors

/// A sequence of bytes in memory, which may be part of the program or of a file.
public typealias RemoteSettingsBytes = Bytes
/// A SHA-256 digest.
public typealias RemoteSettingsDigest = SHA256Digest
/// A number in a JSON document, with all its digits.
public typealias RemoteSettingsJSONNumber = JSONNumber
/// Any JSON value. It can be written as a literal, and it conforms to `Codable`.
public typealias RemoteSettingsJSON = JSONValue
/// A time in milliseconds since 1970.
public typealias RemoteSettingsTimestamp = Timestamp

extension Timestamp {
    /// Creates the timestamp that is nearest to a date; 0 for a date before 1970.
    public init(_ date: Date) {
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
        self.init(milliseconds: UInt64(exactly: max(0, min(milliseconds, 1e18))) ?? 0)
    }

    /// The timestamp as a `Date`.
    public var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }
}

extension JSONValue {
    /// Parses a JSON document (RFC 8259). An object with a duplicate key is refused.
    ///
    /// - Throws: ``RemoteSettingsError/other(reason:)`` with the position of the first error.
    public init(json: String) throws(RemoteSettingsError) {
        do {
            try self.init(parsing: Bytes(utf8: json))
        } catch {
            throw RemoteSettingsError(error)
        }
    }
}

extension TrustAnchors {
    /// Parses SHA-256 hashes in upper or lower case.
    ///
    /// Each is either `C8:A8:0E:…` (32 pairs with colons) or 64 hexadecimal digits.
    ///
    /// - Throws: ``RemoteSettingsError/other(reason:)`` for the first string that has neither form.
    public init(parsing texts: [String]) throws(RemoteSettingsError) {
        do {
            try self.init(hashes: texts)
        } catch {
            throw .other(reason: "\(error)")
        }
    }
}
