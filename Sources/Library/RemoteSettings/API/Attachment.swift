import RemoteSettingsModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A file attached to a record, as described by the record.
public struct RemoteSettingsAttachment: Codable, Hashable, Sendable {
    /// The name of the file when it was uploaded. Do not use it as a path: the server may send any string.
    public var filename: String
    /// The media type stated by the server, such as `image/svg+xml`.
    public var mimetype: String
    /// The path of the file, relative to the server's base URL for attachments.
    public var location: String
    /// The SHA-256 of the file, as 64 lowercase hexadecimal digits.
    public var hash: String
    /// The size of the file in bytes.
    public var size: UInt64

    /// Creates a description of a file. Nothing is validated until the attachment is requested. Each parameter sets the
    /// property of the same name.
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

/// The place that an attachment's bytes came from.
@nonexhaustive public enum AttachmentSource: Hashable, Sendable {
    /// The storage directory.
    case cached
    /// The packaged bundle in the ``PackagedSource`` with this name.
    case packaged(String)
    /// The server. This call downloaded the attachment.
    case network
    /// The storage directory, with the attachment of an earlier version of the record.
    ///
    /// The current attachment could not be fetched, and the caller allowed an earlier one (`staleFallback`).
    case staleCached
    /// The packaged bundle in the ``PackagedSource`` with this name, with the attachment of an earlier version of the
    /// record.
    case stalePackaged(String)
}

/// An attachment in memory, verified against the size and SHA-256 in its record.
public struct AttachmentContent: Sendable {
    /// The attachment's bytes. Bytes of a packaged bundle are read in place, without a copy.
    public let bytes: RemoteSettingsBytes
    /// The place that the bytes came from.
    public let source: AttachmentSource
    /// The earlier version of the record that the bytes belong to; `nil` if they belong to the requested record.
    public var earlierRecord: RemoteSettingsRecord?

    /// The attachment's bytes as `Data`, backed by the same memory as ``bytes``, without a copy.
    public var data: Data { bytes.data }
}

/// The progress of a download.
public struct AttachmentProgress: Hashable, Sendable {
    /// The number of bytes received so far.
    public var received: UInt64
    /// The attachment's total size in bytes, as stated in its record.
    public var total: UInt64

    /// Creates a progress value.
    ///
    /// - Parameters:
    ///   - received: the number of bytes received so far.
    ///   - total: the total size in bytes.
    public init(received: UInt64, total: UInt64) {
        self.received = received
        self.total = total
    }
}

/// The result of ``RemoteSettingsClient/downloadAttachments(isolation:progress:)``, as numbers of files.
public struct AttachmentDownloads: Hashable, Sendable {
    /// The number of files that were already in the storage directory or a packaged bundle.
    public var present = 0
    /// The number of files extracted from the server's ZIP file of the collection's attachments.
    public var fromZip = 0
    /// The number of files downloaded one by one.
    public var downloaded = 0
    /// The reasons why files could not be downloaded, by the ids of their records.
    public var failed: [String: RemoteSettingsError] = [:]

    /// Creates a result from numbers of files, each 0 or more.
    public init(present: Int = 0, fromZip: Int = 0, downloaded: Int = 0) {
        self.present = present
        self.fromZip = fromZip
        self.downloaded = downloaded
    }
}

extension Bytes {
    /// The bytes as `Data`, without a copy. The data keeps the memory alive.
    var data: Data {
        guard !isEmpty else { return Data() }
        let owner = self
        return unsafe withUnsafeBytes { buffer in
            guard let start = buffer.baseAddress else { return Data() }
            // Nothing writes through this pointer: `Data` copies memory with a custom deallocator before it changes it.
            return unsafe Data(
                bytesNoCopy: unsafe UnsafeMutableRawPointer(mutating: start), count: buffer.count,
                deallocator: .custom { _, _ in withExtendedLifetime(owner) {} })
        }
    }
}
