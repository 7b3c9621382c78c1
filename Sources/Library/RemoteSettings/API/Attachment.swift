import RemoteSettingsModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A file that belongs to a record, as the record describes it.
public struct RemoteSettingsAttachment: Codable, Hashable, Sendable {
    /// The name that the file had when it was uploaded. It is not safe as a path: the server may send any text.
    public var filename: String
    /// The media type that the server states, such as `image/svg+xml`.
    public var mimetype: String
    /// Its path, relative to the server's base URL for attachments.
    public var location: String
    /// SHA-256 of its bytes, as 64 lower-case hexadecimal digits.
    public var hash: String
    /// In bytes.
    public var size: UInt64

    /// Describes a file. Nothing is checked until the attachment is asked for. Each parameter is the property of the
    /// same name.
    public init(filename: String, mimetype: String, location: String, hash: String, size: UInt64) {
        self.filename = filename
        self.mimetype = mimetype
        self.location = location
        self.hash = hash
        self.size = size
    }

    init(_ attachment: RecordAttachment) {
        self.init(
            filename: attachment.filename, mimetype: attachment.mimetype, location: attachment.location,
            hash: attachment.hash.hex, size: attachment.size)
    }
}

/// Where an attachment's bytes came from.
///
/// Open: a later version may add cases, so a `switch` needs a `default`.
public enum AttachmentSource: Hashable, Sendable {
    /// The storage directory.
    case cached
    /// The bundle of the ``PackagedSource`` of this name.
    case packaged(String)
    /// The server: it was downloaded by this call.
    case network
    /// The storage directory, with the attachment of an earlier version of the record.
    ///
    /// The right one could not be fetched, and the caller accepts an earlier one.
    case staleCached
    /// The bundle of the ``PackagedSource`` of this name, with the attachment of an earlier version of the record.
    case stalePackaged(String)
}

/// An attachment in memory. Its size and SHA-256 are those that a record of the collection states.
public struct AttachmentContent: Sendable {
    /// The attachment's bytes. Those of a packaged bundle stay in the bundle; nothing is copied.
    public let bytes: RemoteSettingsBytes
    /// Where the bytes came from.
    public let source: AttachmentSource
    /// The earlier version of the record that the bytes belong to; `nil` if they are those of the record asked for.
    public var earlierRecord: RemoteSettingsRecord?

    /// The same memory as ``bytes``; nothing is copied.
    public var data: Data { bytes.data }
}

/// An attachment as a file. Its size and SHA-256 were those that a record of the collection states.
public struct AttachmentFile: Sendable {
    /// The URL of a file in the storage directory. Do not write to it.
    ///
    /// The first sync after which no record names the file removes it, so do not keep the URL for long.
    public let url: URL
    /// Where the bytes came from.
    public let source: AttachmentSource
    /// The earlier version of the record that the file belongs to; `nil` if it is that of the record asked for.
    public var earlierRecord: RemoteSettingsRecord?

    init(path: String, source: AttachmentSource, earlierRecord: RemoteSettingsRecord? = nil) {
        url = URL(filePath: path, directoryHint: .notDirectory)
        self.source = source
        self.earlierRecord = earlierRecord
    }
}

/// How far a download has come.
public struct AttachmentProgress: Hashable, Sendable {
    /// The bytes that have arrived.
    public var received: UInt64
    /// The attachment's size in bytes, as its record states it.
    public var total: UInt64

    /// - Parameters:
    ///   - received: bytes.
    ///   - total: bytes.
    public init(received: UInt64, total: UInt64) {
        self.received = received
        self.total = total
    }
}

/// What ``RemoteSettingsClient/downloadAttachments()`` did, counted in files.
public struct AttachmentDownloads: Hashable, Sendable {
    /// Files that the storage directory or a packaged bundle already had.
    public var present = 0
    /// Files taken from the server's zip of the collection's attachments.
    public var fromZip = 0
    /// Files downloaded one by one.
    public var downloaded = 0

    /// Counts of files, each 0 or more.
    public init(present: Int = 0, fromZip: Int = 0, downloaded: Int = 0) {
        self.present = present
        self.fromZip = fromZip
        self.downloaded = downloaded
    }
}

extension Bytes {
    /// The same memory: nothing is copied, and it lives as long as the data does.
    var data: Data {
        guard !isEmpty else { return Data() }
        let owner = self
        return unsafe withUnsafeBytes { buffer in
            guard let start = buffer.baseAddress else { return Data() }
            // The pointer is never written through: `Data` copies what a custom deallocator owns before it changes it.
            return unsafe Data(
                bytesNoCopy: unsafe UnsafeMutableRawPointer(mutating: start), count: buffer.count,
                deallocator: .custom { _, _ in withExtendedLifetime(owner) {} })
        }
    }
}
