import RemoteSettingsModel

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Where an attachment's bytes came from.
public enum AttachmentSource: Hashable, Sendable {
    /// The storage directory.
    case cached
    /// The bundle of the ``PackagedSource`` of this name.
    case packaged(String)
    /// Downloaded now.
    case network
    /// Not the record's attachment but that of an earlier version of the record, from the storage directory: the right
    /// one could not be had, and the caller accepts this.
    case staleCached
    /// The same from a packaged bundle.
    case stalePackaged(String)
}

/// An attachment in memory. Its size and SHA-256 are those that a record of the collection states.
public struct AttachmentContent: Sendable {
    public let bytes: Bytes
    public let source: AttachmentSource

    /// The same memory as ``bytes``; nothing is copied.
    public var data: Data { bytes.data }
}

/// An attachment as a file. Its size and SHA-256 were those that a record of the collection states.
public struct AttachmentFile: Sendable {
    /// A file in the storage directory. It stays at least until a sync brings a record without it: keep no path for long,
    /// and do not write to it.
    public let path: String
    public let source: AttachmentSource

    public var url: URL { URL(fileURLWithPath: path) }
}

/// How far a download has come.
public struct AttachmentProgress: Hashable, Sendable {
    /// Bytes.
    public var received: UInt64
    /// Bytes.
    public var total: UInt64

    public init(received: UInt64, total: UInt64) {
        self.received = received
        self.total = total
    }
}

/// What ``RemoteSettingsClient/cacheAttachments()`` did, in files.
public struct CachedAttachmentsSummary: Hashable, Sendable {
    /// In the storage directory or a packaged bundle already.
    public var present = 0
    /// Taken from the server's zip.
    public var fromZip = 0
    /// Downloaded one by one.
    public var downloaded = 0

    public init(present: Int = 0, fromZip: Int = 0, downloaded: Int = 0) {
        self.present = present
        self.fromZip = fromZip
        self.downloaded = downloaded
    }
}

extension Bytes {
    /// The same memory; nothing is copied, and it lives as long as the data does.
    var data: Data {
        guard !isEmpty else { return Data() }
        let owner = self
        return unsafe withUnsafeBytes { buffer in
            guard let start = buffer.baseAddress else { return Data() }
            // Nobody writes through it: data of a custom deallocator is copied before it is changed.
            return unsafe Data(
                bytesNoCopy: unsafe UnsafeMutableRawPointer(mutating: start), count: buffer.count,
                deallocator: .custom { _, _ in withExtendedLifetime(owner) {} })
        }
    }
}
