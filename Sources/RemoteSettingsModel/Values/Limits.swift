/// Every limit that this package puts on what comes from outside, in one place.
///
/// What goes over a limit is refused with an error that names the limit; nothing is truncated silently.
public struct Limits: Sendable, Hashable {
    /// A collection's changeset, in bytes after decompression.
    public var changesetBytes = 256 << 20
    /// The monitor's changeset, in bytes after decompression.
    public var monitorBytes = 16 << 20
    /// The server's root document, in bytes after decompression.
    public var rootDocumentBytes = 1 << 20
    /// A certificate chain, in bytes.
    public var chainBytes = 64 << 10
    /// Certificates in a chain.
    public var chainCertificates = 8
    /// An attachment, in bytes, whatever its record declares. Where `Int` has 32 bits, its highest value.
    public var attachmentBytes = Int(clamping: Int64(16) << 30)
    /// The server's zip of a collection's attachments, in bytes (the server itself stops at 20,000,000).
    public var attachmentsZipBytes = 64 << 20
    /// What the files of the server's zip have together after decompression, in bytes.
    public var attachmentsZipContentBytes = 512 << 20
    /// Attachments of a collection.
    public var attachments = 100_000
    /// Records of a collection.
    public var records = 1_000_000
    /// A record in canonical form, in bytes.
    public var recordBytes = 16 << 20
    /// Arrays and objects inside each other in a JSON document.
    public var jsonDepth = 128
    /// Members of a JSON object. In a record, those of all objects that are open at once count together.
    public var jsonMembers = 100_000
    /// Values of all kinds in a JSON document that is read into memory as a tree, and in a record.
    public var jsonValues = 250_000
    /// A collection's metadata, in bytes, wherever it comes from: a changeset, a bundle, a cache file.
    public var metadataBytes = 1 << 20
    /// The first line of a file in an app's storage directory, in bytes: the metadata and the chain as JSON strings.
    public var cacheHeadBytes = 4 << 20
    /// `dumps.lock.json`, in bytes.
    public var lockBytes = 64 << 20
    /// A bundle's `manifest.json`, in bytes.
    public var manifestBytes = 128 << 20
    /// Entries of signatures looked at in a collection's metadata.
    public var signatures = 16
    /// Redirects followed for one request.
    public var redirects = 5
    /// Tries of one request: the first one and its repetitions after a time-out, a broken connection or a 5xx.
    public var tries = 4
    /// What is kept of the body of an error answer, in bytes, to be shown.
    public var errorBodyBytes = 2 << 10
    /// The longest wait, in seconds, that a server's `Backoff` or `Retry-After` can ask for.
    public var backoffSeconds = 86_400
    /// The longest wait asked for, in seconds, that is sat out instead of failing.
    public var patienceSeconds = 5
    /// Seconds that a collection's timestamp may be ahead of the time at which it is verified: the clocks of servers and
    /// devices differ.
    public var clockToleranceSeconds = 86_400
    /// Seconds until an answer's head must have come.
    public var headTimeoutSeconds = 30
    /// Seconds that a body may stand still.
    public var idleTimeoutSeconds = 30
    /// Seconds to wait for another process that writes to the same storage directory.
    public var storageLockSeconds = 5
    /// An older state's file in version control, in bytes; it is read into memory.
    public var historyFileBytes = 1 << 30
    /// Revisions looked at for an older state.
    public var revisions = 100_000
    /// Files and folders looked at in a folder of older bundles.
    public var historyFiles = 1_000_000
    /// Folders inside each other in a folder of older bundles.
    public var historyDepth = 32
    /// Entries of an archive that is imported.
    public var archiveEntries = 500_000
    /// What comes out of an archive that is imported, in bytes. Where `Int` has 32 bits, its highest value.
    public var archiveBytes = Int(clamping: Int64(64) << 30)
    /// What comes out of an archive for each byte of it; looked at from 64 MiB on (deflate cannot go over 1,032).
    public var archiveRatio = 1_100
    /// Folders inside each other in an archive that is imported, and the file in them.
    public var archivePathDepth = 64
    /// Archives inside each other.
    public var archiveDepth = 3
    /// Clients of a server of one's own.
    public var server = ServerLimits()
    /// Filter expressions.
    public var filter = FilterLimits()

    public init() {}
}
